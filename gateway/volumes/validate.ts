import type { z } from 'zod';
import {
  encryptionOf,
  requireFormatOptions,
  filesystemNames,
  type FormatOptions,
  formatOptionsOf,
  isFilesystemName,
  isForNodes,
} from '../../src/api/filesystems.ts';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Backend } from '../backend.ts';
import type { Pool } from '../pools/pools.ts';

/** What all of them read; INVALID_ARGUMENT says at once what any of them refuses, so that a class is mended in one go. */
export function readAll<T extends Readonly<Record<string, unknown>>>(reads: {
  readonly [K in keyof T]: () => T[K];
}): T {
  const faults = new Set<string>();
  const entries = Object.entries<() => unknown>(reads).map(([key, read]) => {
    try {
      return [key, read()];
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'INVALID_ARGUMENT')) throw error;
      faults.add(error.detail);
      return [];
    }
  });
  if (faults.size > 0) throw invalidProblem([...faults].join('; '));
  return Object.fromEntries(entries) as T;
}

/** True for what never writes. */
export function isForReaders({ accessMode }: Capability): boolean {
  return accessMode.endsWith('_READER_ONLY');
}

/** INVALID_ARGUMENT that names every capability that the pool does not offer, or not for a volume of these parameters. */
export function requireCapabilities(
  pool: Pool,
  capabilities: readonly Capability[],
  parameters?: Readonly<Record<string, string>>,
): void {
  requireEncryptable(pool, parameters, capabilities);
  const details = capabilities.flatMap(one => capabilityProblem(pool, one)?.detail ?? []);
  if (details.length > 0) throw invalidProblem([...new Set(details)].join('; '));
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

/** The backend's parameters with those for nodes (`fs.…`, `encryption`). INVALID_ARGUMENT names what is wrong. */
export function readVolumeParameters(
  pool: Pool,
  parameters: Readonly<Record<string, string>>,
  capabilities: readonly Capability[],
): Record<string, string> {
  const options = formatOptionsOf(parameters);
  const own = Object.entries(parameters).filter(([key]) => !isForNodes(key));
  const { known, encryption } = readAll({
    known: () => readParameters(pool.backend.parameters, Object.fromEntries(own)),
    options: () => requireFormatted(pool, options, capabilities),
    encryption: () => requireEncryptable(pool, parameters, capabilities),
  });
  return { ...known, ...options, ...(encryption && { encryption }) };
}

/** How nodes encrypt such a volume; INVALID_ARGUMENT where they cannot, as where each of several would do it by itself. */
function requireEncryptable(
  { name, backend: { areShares } }: Pool,
  parameters: Readonly<Record<string, string>> | undefined,
  capabilities: readonly Capability[],
) {
  const encryption = encryptionOf(parameters);
  if (encryption === undefined) return undefined;
  if (areShares)
    throw invalidProblem(
      `parameter "encryption": volumes of pool "${name}" are shares, which nodes cannot encrypt`,
    );
  if (capabilities.some(({ accessMode }) => accessMode === 'MULTI_NODE_MULTI_WRITER'))
    throw invalidProblem(
      'parameter "encryption": what several nodes write to cannot be encrypted by each of them',
    );
  return encryption;
}

/** INVALID_ARGUMENT for options that no filesystem of such a volume takes. */
function requireFormatted(
  { name, backend: { areShares } }: Pool,
  options: FormatOptions,
  capabilities: readonly Capability[],
): void {
  const given = Object.keys(options);
  if (given.length === 0) return;
  const isFormatted =
    capabilities.length === 0 || capabilities.some(({ accessType }) => accessType === 'mount');
  if (areShares || !isFormatted)
    throw invalidProblem(
      `parameter "${given.join('", "')}" is for a new filesystem, and ${isFormatted ? `no volume of pool "${name}" gets one` : 'a block volume gets none'}`,
    );
  const asked = capabilities.map(({ fsType = '' }) => fsType).filter(isFilesystemName);
  if (asked.length === 0) requireFormatOptions(options);
  readAll(Object.fromEntries(asked.map(one => [one, () => requireFormatOptions(options, one)])));
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

/** So much is said of what is wrong, in characters: more would be the work of milliseconds, in an answer and in a log. */
const mostDetail = 4_096;

/** What the schema reads; INVALID_ARGUMENT names all that is wrong, by its path from `root`, as far as there is room. */
export function readBy<T>(schema: z.ZodType<T>, value: unknown, root: string): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const detail = describeIssues(error, path => [root, ...path].join('.')).join('; ');
  throw invalidProblem(
    detail.length > mostDetail ? `${detail.slice(0, mostDetail).toWellFormed()} …` : detail,
  );
}
