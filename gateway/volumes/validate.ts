import type { z } from 'zod';
import {
  checkFormatOptions,
  filesystemNames,
  formatOptionsOf,
  isFilesystemName,
} from '../../src/api/filesystems.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Backend } from '../backend.ts';

/** INVALID_ARGUMENT when no size can lie between the two bounds; 0 or absent is no bound. */
export function checkRange({
  requiredBytes = 0,
  limitBytes = 0,
}: {
  readonly requiredBytes?: number | undefined;
  readonly limitBytes?: number | undefined;
}): void {
  if (limitBytes > 0 && requiredBytes > limitBytes)
    throw new Problem(
      'INVALID_ARGUMENT',
      `requiredBytes of ${requiredBytes} is more than limitBytes of ${limitBytes}`,
    );
}

/** True when the backend has volumes that can be used so, filesystem included. */
export function offers(backend: Backend, capability: Capability): boolean {
  return offersUse(backend, capability) && (backend.areShares === true || isMade(capability));
}

/** INVALID_ARGUMENT that names the first capability that the backend does not offer. */
export function checkCapabilities(backend: Backend, capabilities: readonly Capability[]): void {
  const refused = capabilities.find(capability => !offersUse(backend, capability));
  if (refused)
    throw new Problem(
      'INVALID_ARGUMENT',
      `backend "${backend.name}" does not offer ${refused.accessMode} for volumes of type ${refused.accessType}`,
    );
  // What a share may be asked for as, its backend knows.
  if (!backend.areShares) capabilities.forEach(checkFilesystem);
}

function offersUse(backend: Backend, { accessMode, accessType }: Capability): boolean {
  const isOffered = backend.accessModes.includes(accessMode) && backend.accessTypes.includes(accessType);
  // Two nodes that write to a filesystem of their own making on one device destroy it.
  const isUnsafe = !backend.areShares && accessType === 'mount' && accessMode === 'MULTI_NODE_MULTI_WRITER';
  return isOffered && !isUnsafe;
}

function checkFilesystem(capability: Capability): void {
  if (isMade(capability)) return;
  const { fsType } = capability;
  throw new Problem('INVALID_ARGUMENT', `filesystem "${fsType}" is not one of ${filesystemNames.join(', ')}`);
}

/** True when nodes make the filesystem that is named, or none is. */
function isMade({ fsType = '' }: Capability): boolean {
  return fsType === '' || isFilesystemName(fsType);
}

/**
 * A volume's parameters as they are recorded: the backend's own, and the options for a new filesystem (`fs.…`), which
 * are for the nodes. INVALID_ARGUMENT names the one that is unknown or wrong, for the backend or for a filesystem.
 */
export function checkVolumeParameters(
  backend: Pick<Backend, 'name' | 'parameters' | 'areShares'>,
  parameters: Readonly<Record<string, string>> = {},
  capabilities: readonly Capability[] = [],
): Record<string, string> {
  const options = formatOptionsOf(parameters);
  const own = Object.entries(parameters).filter(([key]) => !Object.hasOwn(options, key));
  const checked = checkParameters(backend, Object.fromEntries(own));
  const [option] = Object.keys(options);
  if (option === undefined) return checked;
  const isFormatted =
    capabilities.length === 0 || capabilities.some(({ accessType }) => accessType === 'mount');
  if (backend.areShares || !isFormatted)
    throw new Problem(
      'INVALID_ARGUMENT',
      `parameter "${option}" is for a new filesystem, and ${isFormatted ? `no volume of backend "${backend.name}" gets one` : 'a block volume gets none'}`,
    );
  const asked = capabilities.map(({ fsType = '' }) => fsType).filter(isFilesystemName);
  if (asked.length === 0) checkFormatOptions(options);
  for (const name of asked) checkFormatOptions(options, name);
  return { ...checked, ...options };
}

/** The parameters as the backend reads them; INVALID_ARGUMENT names the one that is unknown or wrong. */
export function checkParameters(
  { parameters: schema }: Pick<Backend, 'parameters'>,
  parameters: Readonly<Record<string, string>> = {},
  root = 'parameters',
): Record<string, string> {
  const parsed = schema.safeParse(parameters);
  if (!parsed.success) throw new Problem('INVALID_ARGUMENT', describeIssue(parsed.error, { root }));
  return { ...parsed.data };
}

/** A new volume's mutable parameters likewise; INVALID_ARGUMENT when there are some and the backend takes none. */
export function checkMutableParameters(
  { name, modification }: Pick<Backend, 'name' | 'modification'>,
  parameters: Readonly<Record<string, string>> = {},
): Record<string, string> {
  if (modification) return checkParameters(modification, parameters, 'mutableParameters');
  if (Object.keys(parameters).length === 0) return {};
  throw new Problem('INVALID_ARGUMENT', `mutableParameters: backend "${name}" has none`);
}

/** True when a size lies within the bounds; 0 or absent is no bound. */
export function isWithin(
  sizeBytes: number,
  { requiredBytes = 0, limitBytes = 0 }: Parameters<typeof checkRange>[0],
): boolean {
  return (
    Number.isSafeInteger(sizeBytes) &&
    sizeBytes >= requiredBytes &&
    (limitBytes === 0 || sizeBytes <= limitBytes)
  );
}

/** The first thing that is wrong, as `path: what`. Values are not told: some may be secret. */
export function describeIssue(error: z.ZodError, { root }: { readonly root: string }): string {
  const issue = error.issues[0];
  if (!issue) return `${root}: malformed`;
  const path = [root, ...issue.path].join('.');
  if (issue.code === 'unrecognized_keys')
    return `${path}: ${issue.keys.map(key => `"${key}"`).join(', ')} is not known`;
  const [initial = '', ...rest] = issue.message.replace(/^Invalid input: /, '');
  return `${path}: ${initial.toLowerCase()}${rest.join('')}`;
}
