import type { z } from 'zod';
import {
  requireFormatOptions,
  filesystemNames,
  formatOptionsOf,
  isFilesystemName,
} from '../../src/api/filesystems.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Backend } from '../backend.ts';
import type { Pool } from '../pools/pools.ts';

/** Bounds of a size in bytes; 0 or absent is no bound. */
type Range = { readonly requiredBytes?: number | undefined; readonly limitBytes?: number | undefined };

/** INVALID_ARGUMENT when no size can lie between the two bounds. */
export function requireRange({ requiredBytes = 0, limitBytes = 0 }: Range): void {
  if (limitBytes > 0 && requiredBytes > limitBytes)
    throw new Problem(
      'INVALID_ARGUMENT',
      `requiredBytes of ${requiredBytes} is more than limitBytes of ${limitBytes}`,
    );
}

/** True when a size lies within the bounds. */
export function isWithin(sizeBytes: number, { requiredBytes = 0, limitBytes = 0 }: Range): boolean {
  return (
    Number.isSafeInteger(sizeBytes) &&
    sizeBytes >= requiredBytes &&
    (limitBytes === 0 || sizeBytes <= limitBytes)
  );
}

/** True when the backend has volumes that can be used so, filesystem included. */
export function canUse(backend: Backend, capability: Capability): boolean {
  return isOffered(backend, capability) && (backend.areShares === true || isMade(capability));
}

/** INVALID_ARGUMENT that names the first capability that the pool does not offer. */
export function requireCapabilities({ name, backend }: Pool, capabilities: readonly Capability[]): void {
  const refused = capabilities.find(capability => !isOffered(backend, capability));
  if (refused)
    throw new Problem(
      'INVALID_ARGUMENT',
      `pool "${name}" does not offer ${refused.accessMode} for volumes of type ${refused.accessType}`,
    );
  // What a share may be asked for as, its backend knows.
  if (!backend.areShares) capabilities.forEach(requireFilesystem);
}

function isOffered(backend: Backend, { accessMode, accessType }: Capability): boolean {
  const offered = backend.accessModes.includes(accessMode) && backend.accessTypes.includes(accessType);
  // Two nodes that write to a filesystem of their own making on one device destroy it.
  const isUnsafe = !backend.areShares && accessType === 'mount' && accessMode === 'MULTI_NODE_MULTI_WRITER';
  return offered && !isUnsafe;
}

function requireFilesystem(capability: Capability): void {
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
export function readVolumeParameters(
  { name: pool, backend }: Pool,
  parameters: Readonly<Record<string, string>>,
  capabilities: readonly Capability[],
): Record<string, string> {
  const options = formatOptionsOf(parameters);
  const own = Object.entries(parameters).filter(([key]) => !Object.hasOwn(options, key));
  const known = readParameters(backend.parameters, Object.fromEntries(own));
  const [option] = Object.keys(options);
  if (option === undefined) return known;
  const isFormatted =
    capabilities.length === 0 || capabilities.some(({ accessType }) => accessType === 'mount');
  if (backend.areShares || !isFormatted)
    throw new Problem(
      'INVALID_ARGUMENT',
      `parameter "${option}" is for a new filesystem, and ${isFormatted ? `no volume of pool "${pool}" gets one` : 'a block volume gets none'}`,
    );
  const asked = capabilities.map(({ fsType = '' }) => fsType).filter(isFilesystemName);
  if (asked.length === 0) requireFormatOptions(options);
  for (const name of asked) requireFormatOptions(options, name);
  return { ...known, ...options };
}

/** The parameters as the backend's schema reads them; INVALID_ARGUMENT names the one that is unknown or wrong. */
export function readParameters(
  schema: Backend['parameters'],
  parameters: Readonly<Record<string, string>> = {},
  root = 'parameters',
): Record<string, string> {
  const parsed = schema.safeParse(parameters);
  if (!parsed.success) throw new Problem('INVALID_ARGUMENT', describeIssue(parsed.error, { root }));
  return { ...parsed.data };
}

/** A new volume's mutable parameters likewise; INVALID_ARGUMENT when there are some and the pool takes none. */
export function readMutableParameters(
  { name, backend: { modification } }: Pool,
  parameters: Readonly<Record<string, string>> = {},
): Record<string, string> {
  if (modification) return readParameters(modification.parameters, parameters, 'mutableParameters');
  if (Object.keys(parameters).length === 0) return {};
  throw new Problem('INVALID_ARGUMENT', `mutableParameters: pool "${name}" has none`);
}

/** The first thing that is wrong, as `path: what`. Values are not shown: some may be secret. */
export function describeIssue(error: z.ZodError, { root }: { readonly root: string }): string {
  const issue = error.issues[0];
  if (!issue) return `${root}: malformed`;
  const path = [root, ...issue.path].join('.');
  if (issue.code === 'unrecognized_keys')
    return `${path}: ${issue.keys.map(key => `"${key}"`).join(', ')} is not known`;
  const [initial = '', ...rest] = issue.message.replace(/^Invalid input: /, '');
  return `${path}: ${initial.toLowerCase()}${rest.join('')}`;
}
