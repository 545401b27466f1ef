import type { Attachment, Protocol } from '../../src/api/attachment.ts';
import { checkFormatOptions } from '../../src/api/filesystems.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { ShareConnector } from '../connector.ts';
import { shareConnectorFor } from '../connectors/index.ts';
import type { Filesystem } from '../filesystem.ts';
import { filesystems, findFilesystem } from '../filesystems/index.ts';
import { checkFlags } from './mount-flags.ts';
import type { VolumeRecord } from '../state/records.ts';

/** The filesystem that a capability asks for; undefined when it leaves the choice. Unknown ones are INVALID_ARGUMENT. */
export function readFilesystem({ fsType }: Capability): Filesystem | undefined {
  if (fsType === undefined) return undefined;
  const filesystem = findFilesystem(fsType);
  if (filesystem) return filesystem;
  const known = filesystems.map(({ name }) => name).join(', ');
  throw new Problem('INVALID_ARGUMENT', `filesystem "${fsType}" is not one of ${known}`);
}

/**
 * INVALID_ARGUMENT for mount flags that no filesystem the capability allows for knows, for a filesystem on a device that
 * several nodes shall write to, which would destroy it, and for a share to be used as what it is not: a block device, or
 * another filesystem.
 */
export function checkCapability(capability: Capability, attachment: Attachment): void {
  const connector = shareConnectorFor(attachment);
  if (connector) checkShared(capability, connector);
  else checkOwn(capability, attachment);
}

/** INVALID_ARGUMENT for options that no filesystem the volume can get takes, and for any where it gets none. */
export function checkFormat({ attachment, capability, formatOptions = {} }: FormatRequest): void {
  const [option] = Object.keys(formatOptions);
  if (option === undefined) return;
  if (capability.accessType === 'block' || shareConnectorFor(attachment))
    throw new Problem(
      'INVALID_ARGUMENT',
      `parameter "${option}" is for a new filesystem, and a ${capability.accessType === 'block' ? 'block volume' : 'share'} gets none`,
    );
  checkFormatOptions(formatOptions, readFilesystem(capability)?.name);
}

type FormatRequest = Pick<VolumeRecord, 'attachment' | 'capability' | 'formatOptions'>;

function checkShared(capability: Capability, { protocol, allowedFlags }: ShareConnector<Protocol>): void {
  const { accessType, fsType = protocol, mountFlags = [] } = capability;
  if (accessType === 'block')
    throw new Problem('INVALID_ARGUMENT', `a volume over ${protocol} is a share, which has no block device`);
  if (fsType !== protocol)
    throw new Problem(
      'INVALID_ARGUMENT',
      `filesystem "${fsType}" cannot be had: a volume over ${protocol} is a share with a filesystem of its own`,
    );
  checkFlags(mountFlags, { name: protocol, allowedFlags });
}

function checkOwn(capability: Capability, { readonly }: Attachment): void {
  const { accessType, accessMode } = capability;
  if (accessType === 'mount' && accessMode === 'MULTI_NODE_MULTI_WRITER' && !readonly)
    throw new Problem(
      'INVALID_ARGUMENT',
      'several nodes cannot write to a filesystem on one device: MULTI_NODE_MULTI_WRITER is for shares and block volumes',
    );
  const wanted = readFilesystem(capability);
  const [first, ...rest] = wanted ? [wanted] : filesystems;
  if (!first || !capability.mountFlags) return;
  if (rest.some(filesystem => passes(capability.mountFlags ?? [], filesystem))) return;
  checkFlags(capability.mountFlags, first);
}

function passes(flags: readonly string[], filesystem: Filesystem): boolean {
  try {
    checkFlags(flags, filesystem);
    return true;
  } catch {
    return false;
  }
}

/** True when the capability alone forbids writing. */
export function isReaderOnly({ accessMode }: Capability): boolean {
  return accessMode === 'SINGLE_NODE_READER_ONLY' || accessMode === 'MULTI_NODE_READER_ONLY';
}

/** True when the volume is mounted such that nothing can be written. */
export function isMountedReadonly({
  attachment,
  capability,
}: Pick<VolumeRecord, 'attachment' | 'capability'>): boolean {
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
