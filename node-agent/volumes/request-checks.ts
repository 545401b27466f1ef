import { filesystemNames, requireFormatOptions } from '../../src/api/filesystems.ts';
import { requireMountOptions, requireShareProtocol } from '../../src/api/filesystems/mount-options.ts';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Filesystem } from '../filesystem.ts';
import { findFilesystem } from '../filesystems/index.ts';
import { isStaged, pathsOf, type Records, type VolumeRecord } from '../state/records.ts';

type RequestedUse = Pick<VolumeRecord, 'attachment' | 'capability' | 'formatOptions'>;

/** Returns the filesystem that a capability names, or undefined if it names none; an unknown one is INVALID_ARGUMENT. */
export function readFilesystem({ fsType }: Capability): Filesystem | undefined {
  if (fsType === undefined) return undefined;
  const filesystem = findFilesystem(fsType);
  if (filesystem) return filesystem;
  throw invalidProblem(`filesystem "${fsType}" is not one of ${filesystemNames.join(', ')}`);
}

/**
 * INVALID_ARGUMENT for a filesystem on a device that several nodes write to, which would destroy it, and for mount flags and
 * format options that no possible filesystem of the volume supports.
 */
export function requireFilesystemUsable({ attachment, capability, formatOptions }: RequestedUse): void {
  if (capability.accessMode === 'MULTI_NODE_MULTI_WRITER' && !attachment.readonly)
    throw invalidProblem(
      'several nodes cannot write to a filesystem on one device: MULTI_NODE_MULTI_WRITER is for shares and block volumes',
    );
  const wanted = readFilesystem(capability);
  const kinds = wanted ? [wanted.name] : filesystemNames;
  requireMountOptions(capability.mountFlags ?? [], ...kinds);
  requireFormatOptions(formatOptions ?? {}, wanted?.name);
}

/** INVALID_ARGUMENT for an encrypted share, a share used as another filesystem, and unknown mount flags. */
export function requireShareUsable(requested: RequestedUse): void {
  const { protocol, encryption } = requested.attachment;
  if (encryption !== undefined)
    throw invalidProblem(`a volume over ${protocol} is a share, which nodes cannot encrypt`);
  const { fsType = protocol, mountFlags = [] } = requested.capability;
  if (fsType !== protocol)
    throw invalidProblem(
      `filesystem "${fsType}" cannot be used: a volume over ${protocol} is a share with a filesystem of its own`,
    );
  requireMountOptions(mountFlags, requireShareProtocol(protocol));
  requireNoFormatOptions(requested, 'share');
}

/** INVALID_ARGUMENT for format options of a volume that is never formatted. */
export function requireNoFormatOptions(
  { formatOptions = {} }: RequestedUse,
  kind: 'block volume' | 'share',
): void {
  const [option] = Object.keys(formatOptions);
  if (option !== undefined)
    throw invalidProblem(`parameter "${option}" is for filesystems, and a ${kind} has none; remove it`);
}

/** INVALID_ARGUMENT if a volume_context and the attachment disagree on the encryption. */
export function requireEncryptedAs(
  { encryption }: Readonly<Record<string, string>>,
  attachment: VolumeRecord['attachment'],
): void {
  if (encryption !== undefined && encryption !== attachment.encryption)
    throw invalidProblem(
      `the volume_context has "encryption": "${encryption}", and the volume is ${attachment.encryption === undefined ? 'not encrypted' : `encrypted with "${attachment.encryption}"`}; remove the key`,
    );
}

/** Returns the record of a volume that is staged or published at all of the paths; NOT_FOUND for any other volume. */
export function requireHere(records: Records, volumeId: string, paths: readonly string[]): VolumeRecord {
  const record = records.get(volumeId);
  if (record && isStaged(record) && paths.every(path => pathsOf(record).includes(path))) return record;
  throw notHereProblem(volumeId, paths);
}

export function notHereProblem(volumeId: string, paths: readonly string[]): Problem {
  const where = paths.length > 0 ? `at "${paths.join('" and "')}"` : 'on this node';
  return new Problem('NOT_FOUND', `volume "${volumeId}" is neither staged nor published ${where}`);
}

/** True if the access mode forbids writing. */
export function isReaderOnly({ accessMode }: Capability): boolean {
  return accessMode === 'SINGLE_NODE_READER_ONLY' || accessMode === 'MULTI_NODE_READER_ONLY';
}

/** True if the volume's mount is read-only by its attachment, access mode or mount flags. */
export function isMountedReadonly({ attachment, capability }: Omit<RequestedUse, 'formatOptions'>): boolean {
  return attachment.readonly || isReaderOnly(capability) || capability.mountFlags?.includes('ro') === true;
}

/** True if the volume may be published at more than one path (CSI spec, "NodePublishVolume"). */
export function allowsManyTargets({ accessMode }: Capability): boolean {
  return accessMode.startsWith('MULTI_NODE_') || accessMode === 'SINGLE_NODE_MULTI_WRITER';
}

/** The properties of a request by their names in error messages, so that two requests can be compared. */
export type Facts = Readonly<Record<string, string>>;

export function factsOf({ accessType, accessMode, fsType = 'any', mountFlags = [] }: Capability): Facts {
  return {
    'access type': accessType,
    'access mode': accessMode,
    filesystem: fsType,
    'mount flags': mountFlags.toSorted().join(','),
  };
}

export function differencesOf(held: Facts, requested: Facts): readonly string[] {
  return Object.entries(held)
    .filter(([name, value]) => requested[name] !== value)
    .map(([name, value]) => `${name} is "${value}" and not "${requested[name]}"`);
}
