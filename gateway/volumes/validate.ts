import { describeIssues } from '../../src/api/schemas/issues.ts';
import type { z } from 'zod';
import {
  driverOf,
  encryptionOf,
  requireFormatOptions,
  filesystemNames,
  type FormatOptions,
  formatOptionsOf,
  isFilesystemName,
  isForNodes,
} from '../../src/api/filesystems.ts';
import { candidatesOf } from '../../src/api/filesystems/candidates.ts';
import { mountOptionFault, shareProtocols, type MountKind } from '../../src/api/filesystems/mount-options.ts';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import { durationMs } from '../../src/lib/numbers.ts';
import type { Backend } from '../backend.ts';
import type { Pool } from '../pools/pools.ts';

/** Runs all reads. INVALID_ARGUMENT joins their faults, so that a user can correct all of them at once. */
export function readAll<T extends Readonly<Record<string, unknown>>>(reads: {
  readonly [K in keyof T]: () => T[K];
}): T {
  const faults: string[] = [];
  const results: Record<string, unknown> = {};
  for (const key of Object.keys(reads))
    try {
      results[key] = reads[key]?.();
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'INVALID_ARGUMENT')) throw error;
      faults.push(error.detail);
    }
  if (faults.length > 0) throw invalidProblem([...new Set(faults)].join('; '));
  return results as T;
}

/** The use of a volume. `isNew` is true for an empty one. */
type VolumeUse = {
  readonly isNew: boolean;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
};

/** Throws INVALID_ARGUMENT with every fault of the capabilities for a volume with these parameters in the pool. */
export function requireCapabilities(
  pool: Pool,
  capabilities: readonly Capability[],
  { isNew, parameters }: VolumeUse,
): void {
  readAll({
    encryption: () => requireEncryptable(pool, parameters, capabilities),
    capabilities() {
      const faults = [
        ...capabilities.flatMap(one => capabilityFaults(pool, one, isNew)),
        ...(pool.backend.areShares ? [] : contradictions(capabilities)),
      ];
      if (faults.length > 0) throw invalidProblem([...new Set(faults)].join('; '));
    },
  });
}

/**
 * Returns the reasons why the pool has no volumes for this use, including filesystem and mount flags; empty
 * if it has.
 */
export function capabilityFaults(pool: Pool, capability: Capability, isNew: boolean): readonly string[] {
  const { name, backend } = pool;
  const { accessModes, accessTypes, areShares } = backend;
  const { accessMode, accessType } = capability;
  // Two nodes that mount an ordinary filesystem of one device for writing destroy it.
  const isUnsafe = !areShares && accessType === 'mount' && accessMode === 'MULTI_NODE_MULTI_WRITER';
  const isOffered = accessModes.includes(accessMode) && accessTypes.includes(accessType);
  return [
    ...(isUnsafe || !isOffered
      ? [`pool "${name}" does not offer ${accessMode} for volumes of type ${accessType}`]
      : []),
    ...(accessType === 'mount' ? mountFaults(pool, capability, isNew) : []),
  ];
}

function mountFaults(
  { name, backend }: Pool,
  { fsType = '', mountFlags = [] }: Capability,
  isNew: boolean,
): readonly string[] {
  const kinds: readonly MountKind[] = backend.areShares ? shareKindsOf(backend) : filesystemNames;
  const named = backend.areShares ? kinds.find(kind => kind === fsType) : driverOf(fsType);
  const isMakeable = !isNew || backend.areShares || isFilesystemName(fsType);
  const isKnown = fsType === '' || (named !== undefined && isMakeable);
  const flags = mountOptionFault(mountFlags, named === undefined ? kinds : [named], showFlag);
  return [
    ...(isKnown
      ? []
      : [
          `filesystem "${fsType}" is not one of ${kinds.join(', ')}, which volumes of pool "${name}" can have`,
        ]),
    ...(flags === undefined ? [] : [flags]),
  ];
}

/** The number of characters of a mount flag in a message. */
const maxFlag = 64;

/** Shows a mount flag without its value, which may be secret. */
function showFlag(flag: string): string {
  const [name = '', ...value] = flag.split('=', 2);
  return `${name.slice(0, maxFlag).toWellFormed()}${value.length > 0 ? '=…' : ''}`;
}

function shareKindsOf({ attachmentBounds }: Backend): readonly MountKind[] {
  const known = shareProtocols.filter(one => attachmentBounds?.protocols.includes(one));
  return known.length > 0 ? known : shareProtocols;
}

/** Returns a fault if the uses need more than one filesystem, because a volume has only one. */
function contradictions(capabilities: readonly Capability[]): readonly string[] {
  const drivers = new Set(capabilities.flatMap(({ fsType = '' }) => driverOf(fsType) ?? []));
  return drivers.size > 1 ? [`a volume has one filesystem, not ${[...drivers].join(' and ')} at once`] : [];
}

/** Reads the parameters for the backend, for the gateway (`keepDeleted`), and for nodes (`fs.…`, `encryption`). INVALID_ARGUMENT names the faults. */
export function readVolumeParameters(
  pool: Pool,
  parameters: Readonly<Record<string, string>>,
  capabilities: readonly Capability[],
): Record<string, string> {
  const options = formatOptionsOf(parameters);
  const own = Object.entries(parameters).filter(([key]) => !isForNodes(key));
  const { known, encryption } = readAll({
    known: () => readClassParameters(pool.backend.parameters, Object.fromEntries(own)),
    options: () => requireFormatted(pool, options, capabilities),
    encryption: () => requireEncryptable(pool, parameters, capabilities),
  });
  return { ...known, ...options, ...(encryption && { encryption }) };
}

/**
 * Returns the encryption that nodes apply. INVALID_ARGUMENT when they cannot, for example because several
 * nodes would encrypt independently.
 */
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
      'parameter "encryption": a volume that several nodes write to cannot be encrypted, because each node would encrypt it independently',
    );
  return encryption;
}

/** Throws INVALID_ARGUMENT for options that no filesystem of such a volume takes. */
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
      `parameter "${given.join('", "')}" is for filesystems, and ${isFormatted ? `volumes of pool "${name}" have none` : 'a block volume has none'}`,
    );
  const drivers = capabilities.flatMap(({ fsType = '' }) => driverOf(fsType) ?? []);
  if (drivers.length === 0) requireFormatOptions(options);
  readAll(Object.fromEntries(drivers.map(one => [one, () => requireFormatOptions(options, one)])));
  for (const { fsType, mountFlags } of capabilities)
    if (fsType === undefined && candidatesOf({ mountFlags, formatOptions: options }).length === 0)
      throw invalidProblem('no filesystem takes these mount flags together with these parameters "fs.…"');
}

/** Reads parameters by the backend's schema. INVALID_ARGUMENT names unknown and wrong ones. */
export function readParameters(
  schema: Backend['parameters'],
  parameters: Readonly<Record<string, string>> = {},
  root = 'parameters',
): Record<string, string> {
  return { ...readBy(schema, parameters, root) };
}

/** Reads the parameters of a class by the backend's schema. The gateway alone reads `keepDeleted`, a duration. */
export function readClassParameters(
  schema: Backend['parameters'],
  { keepDeleted, ...own }: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const { known } = readAll({
    known: () => readParameters(schema, own),
    kept: () => keepDeleted !== undefined && requireDuration('keepDeleted', keepDeleted),
  });
  return { ...known, ...(keepDeleted !== undefined && { keepDeleted }) };
}

function requireDuration(name: string, value: string): void {
  try {
    durationMs(value);
  } catch (error) {
    throw invalidProblem(`parameter "${name}": ${(error as Error).message}`);
  }
}

/** Reads a new volume's mutable parameters. INVALID_ARGUMENT when the pool takes none. */
export function readMutableParameters(
  { name, backend: { modification } }: Pool,
  parameters: Readonly<Record<string, string>> = {},
): Record<string, string> {
  if (modification) return readParameters(modification.parameters, parameters, 'mutableParameters');
  if (Object.keys(parameters).length === 0) return {};
  throw invalidProblem(`mutableParameters: pool "${name}" has no mutable parameters`);
}

/** The number of characters of a message about faults. A longer one would take milliseconds to answer and log. */
const maxDetail = 4_000;

/**
 * Reads a value by the schema. INVALID_ARGUMENT lists the faults with their paths from `root`, up to `maxDetail`
 * characters.
 */
export function readBy<T>(schema: z.ZodType<T>, value: unknown, root: string): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const detail = describeIssues(error, path => [root, ...path].join('.')).join('; ');
  throw invalidProblem(detail.length > maxDetail ? `${detail.slice(0, maxDetail).toWellFormed()} …` : detail);
}
