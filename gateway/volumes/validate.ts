import type { z } from 'zod';
import {
  requireFormatOptions,
  filesystemNames,
  formatOptionsOf,
  isFilesystemName,
} from '../../src/api/filesystems.ts';
import { invalidProblem, type Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Backend } from '../backend.ts';
import type { Pool } from '../pools/pools.ts';

/** INVALID_ARGUMENT that names the first capability that the pool does not offer. */
export function requireCapabilities(pool: Pool, capabilities: readonly Capability[]): void {
  for (const capability of capabilities) {
    const problem = capabilityProblem(pool, capability);
    if (problem) throw problem;
  }
}

/** INVALID_ARGUMENT when the pool has no volumes that can be used so, filesystem included. */
export function capabilityProblem(
  { name, backend: { accessModes, accessTypes, areShares } }: Pool,
  { accessMode, accessType, fsType = '' }: Capability,
): Problem | undefined {
  // Two nodes that write to a filesystem of their own making on one device destroy it.
  const isUnsafe = !areShares && accessType === 'mount' && accessMode === 'MULTI_NODE_MULTI_WRITER';
  const isOffered = accessModes.includes(accessMode) && accessTypes.includes(accessType);
  if (isUnsafe || !isOffered)
    return invalidProblem(`pool "${name}" does not offer ${accessMode} for volumes of type ${accessType}`);
  // What a share may be asked for as, its backend knows.
  if (areShares || fsType === '' || isFilesystemName(fsType)) return undefined;
  const names = filesystemNames.join(', ');
  return invalidProblem(`filesystem "${fsType}" is not one of ${names}`);
}

/** The backend's parameters with those for a new filesystem (`fs.…`). INVALID_ARGUMENT names what is wrong. */
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
    throw invalidProblem(
      `parameter "${option}" is for a new filesystem, and ${isFormatted ? `no volume of pool "${pool}" gets one` : 'a block volume gets none'}`,
    );
  const asked = capabilities.map(({ fsType = '' }) => fsType).filter(isFilesystemName);
  if (asked.length === 0) requireFormatOptions(options);
  for (const name of asked) requireFormatOptions(options, name);
  return { ...known, ...options };
}

/** The parameters as the backend's schema reads them; INVALID_ARGUMENT names what is unknown or wrong. */
export function readParameters(
  schema: Backend['parameters'],
  parameters: Readonly<Record<string, string>> = {},
  root = 'parameters',
): Record<string, string> {
  return { ...readBy(schema, parameters, root) };
}

/** A new volume's mutable parameters likewise; INVALID_ARGUMENT when there are some and the pool takes none. */
export function readMutableParameters(
  { name, backend: { modification } }: Pool,
  parameters: Readonly<Record<string, string>> = {},
): Record<string, string> {
  if (modification) return readParameters(modification.parameters, parameters, 'mutableParameters');
  if (Object.keys(parameters).length === 0) return {};
  throw invalidProblem(`mutableParameters: pool "${name}" has none`);
}

/** All that is wrong, each as `path: what`. Values are not shown: some may be secret. */
export function describeIssues(
  { issues }: z.ZodError,
  locate: (path: readonly PropertyKey[]) => string,
): readonly string[] {
  return issues.flatMap(issue => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map(key => `${locate([...issue.path, key])}: is not known`);
    if (issue.code === 'invalid_key')
      return issue.issues.map(({ message }) => `${locate(issue.path)}: ${message}`);
    const [initial = '', ...rest] = issue.message.replace(/^Invalid input: /, '');
    return [`${locate(issue.path)}: ${initial.toLowerCase()}${rest.join('')}`];
  });
}

/** What the schema reads; INVALID_ARGUMENT names all that is wrong, by its path from `root`. */
export function readBy<T>(schema: z.ZodType<T>, value: unknown, root: string): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const issues = describeIssues(error, path => [root, ...path].join('.'));
  throw invalidProblem(issues.join('; '));
}
