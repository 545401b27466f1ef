import type { Protocol } from '../../src/api/attachment.ts';
import { requireFormatOptions } from '../../src/api/filesystems.ts';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { ShareConnector } from '../connector.ts';
import { plainFlags, type Filesystem } from '../filesystem.ts';
import { filesystems, findFilesystem } from '../filesystems/index.ts';
import { pathsOf, type Records, type VolumeRecord } from '../state/records.ts';

/** What is asked of a volume. */
type Asked = Pick<VolumeRecord, 'attachment' | 'capability' | 'formatOptions'>;

/** The filesystem that a capability asks for; undefined when it leaves the choice. Unknown ones are INVALID_ARGUMENT. */
export function readFilesystem({ fsType }: Capability): Filesystem | undefined {
  if (fsType === undefined) return undefined;
  const filesystem = findFilesystem(fsType);
  if (filesystem) return filesystem;
  const known = filesystems.map(({ name }) => name).join(', ');
  throw invalidProblem(`filesystem "${fsType}" is not one of ${known}`);
}

/**
 * INVALID_ARGUMENT for a filesystem on a device that several nodes shall write to, which would destroy it, and for mount flags
 * and format options that no filesystem knows which the volume can get.
 */
export function requireFilesystemUsable({ attachment, capability, formatOptions }: Asked): void {
  if (capability.accessMode === 'MULTI_NODE_MULTI_WRITER' && !attachment.readonly)
    throw invalidProblem(
      'several nodes cannot write to a filesystem on one device: MULTI_NODE_MULTI_WRITER is for shares and block volumes',
    );
  const wanted = readFilesystem(capability);
  requireFlags(capability.mountFlags ?? [], ...(wanted ? [wanted] : filesystems));
  requireFormatOptions(formatOptions ?? {}, wanted?.name);
}

/** INVALID_ARGUMENT for a share to be encrypted, or used as another filesystem, and for unknown mount flags. */
export function requireShareUsable(asked: Asked, connector: ShareConnector<Protocol>): void {
  const { protocol, encryption } = asked.attachment;
  if (encryption !== undefined)
    throw invalidProblem(`a volume over ${protocol} is a share, which nodes cannot encrypt`);
  const { fsType = protocol, mountFlags = [] } = asked.capability;
  if (fsType !== protocol)
    throw invalidProblem(
      `filesystem "${fsType}" cannot be used: a volume over ${protocol} is a share with a filesystem of its own`,
    );
  requireFlags(mountFlags, { name: protocol, allowedFlags: connector.allowedFlags });
  requireNoFormatOptions(asked, 'share');
}

/** INVALID_ARGUMENT for options for a new filesystem where the volume gets none. */
export function requireNoFormatOptions({ formatOptions = {} }: Asked, kind: 'block volume' | 'share'): void {
  const [option] = Object.keys(formatOptions);
  if (option !== undefined)
    throw invalidProblem(`parameter "${option}" is for a new filesystem, and a ${kind} gets none`);
}

/** The record of a volume that is staged or published at each of the paths; NOT_FOUND for any other. */
export function requireHere(records: Records, volumeId: string, paths: readonly string[]): VolumeRecord {
  const record = records.get(volumeId);
  if (record && !record.isDown && paths.every(path => pathsOf(record).includes(path))) return record;
  throw notHereProblem(volumeId, paths);
}

/** NOT_FOUND for a volume that is not at the paths. */
export function notHereProblem(volumeId: string, paths: readonly string[]): Problem {
  const where = paths.length > 0 ? `at "${paths.join('" and "')}"` : 'on this node';
  return new Problem('NOT_FOUND', `volume "${volumeId}" is neither staged nor published ${where}`);
}

/** True when the capability alone forbids writing. */
export function isReaderOnly({ accessMode }: Capability): boolean {
  return accessMode === 'SINGLE_NODE_READER_ONLY' || accessMode === 'MULTI_NODE_READER_ONLY';
}

/** True when the volume is mounted such that nothing can be written. */
export function isMountedReadonly({ attachment, capability }: Omit<Asked, 'formatOptions'>): boolean {
  return attachment.readonly || isReaderOnly(capability) || capability.mountFlags?.includes('ro') === true;
}

/** True when the volume may be published at more than one path (CSI spec, "NodePublishVolume"). */
export function allowsManyTargets({ accessMode }: Capability): boolean {
  return accessMode.startsWith('MULTI_NODE_') || accessMode === 'SINGLE_NODE_MULTI_WRITER';
}

/** What was asked for, in words, so that two requests can be compared. */
export type Facts = Readonly<Record<string, string>>;

/** The facts of a capability. */
export function factsOf({ accessType, accessMode, fsType = 'any', mountFlags = [] }: Capability): Facts {
  return {
    'access type': accessType,
    'access mode': accessMode,
    filesystem: fsType,
    'mount flags': mountFlags.toSorted().join(','),
  };
}

/** How what is asked for differs from what is held; empty when it does not. */
export function differencesOf(held: Facts, asked: Facts): readonly string[] {
  return Object.entries(held)
    .filter(([name, value]) => asked[name] !== value)
    .map(([name, value]) => `${name} is "${value}" and not "${asked[name]}"`);
}

/** What has a list of flags: a filesystem, or a share. */
type FlagTaker = { readonly name: string } & Pick<Filesystem, 'allowedFlags'>;

/** INVALID_ARGUMENT unless one of several takes all flags: `mount` would split others at a comma, or misread them. */
export function requireFlags(flags: readonly string[], ...takers: readonly FlagTaker[]): void {
  const unknown = takers.map(taker => findUnknownFlags(flags, taker));
  if (unknown.every(ofOne => ofOne.length > 0))
    throw invalidProblem(`mount flag "${unknown[0]?.join('", "')}" is not allowed for ${takers[0]?.name}`);
}

/** A sensitivity, or a range of them, each with its categories. */
const level = (separator: string): string => {
  const one = `s\\d{1,2}(?::c\\d{1,4}(?:[.${separator}]c\\d{1,4}){0,15})?`;
  return `${one}(?:-${one})?`;
};
const owner = '[a-z_][a-z0-9_]{0,63}:[a-z_][a-z0-9_]{0,63}:[a-z_][a-z0-9_]{0,63}';

/** An SELinux context as kubelet gives it: in quotes, within which alone `mount` takes a comma for its own. */
const selinuxContext = new RegExp(`^(?:"${owner}:${level(',')}"|${owner}:${level('')})$`);

/** Flags that every filesystem knows. */
const commonFlags: Readonly<Record<string, RegExp>> = {
  ...plainFlags('ro', 'noatime', 'nodiratime', 'relatime', 'strictatime', 'lazytime'),
  ...plainFlags('nosuid', 'nodev', 'noexec', 'sync', 'dirsync'),
  context: selinuxContext,
};

function findUnknownFlags(flags: readonly string[], { allowedFlags }: FlagTaker): readonly string[] {
  return flags.filter(flag => {
    const [name = '', ...rest] = flag.split('=');
    const table = Object.hasOwn(allowedFlags, name) ? allowedFlags : commonFlags;
    return !Object.hasOwn(table, name) || table[name]?.test(rest.join('=')) !== true;
  });
}
