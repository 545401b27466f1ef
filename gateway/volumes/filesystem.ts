import { encryptionOf, driverOf, formatOptionsOf } from '../../src/api/filesystems.ts';
import {
  candidatesOf,
  headerBytesOf,
  minimumVolumeBytes,
  reachOfExisting,
  type ExistingFilesystem,
} from '../../src/api/filesystems/candidates.ts';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { Backend } from '../backend.ts';
import type { SnapshotRecord } from '../tables/snapshots.ts';
import type { RecordedSpec, VolumeRecord } from '../tables/volumes.ts';

type Parameters = Readonly<Record<string, string>> | undefined;
type Source = SnapshotRecord | VolumeRecord;
type Use = Pick<RecordedSpec, 'capabilities' | 'parameters'>;

/** Returns the filesystem on the volume's device, as it was requested; undefined if unknown, as on a raw device. */
export function filesystemOf({ spec, source, usedRaw }: VolumeRecord): ExistingFilesystem | undefined {
  const { capabilities, parameters = {}, requiredBytes = 0 } = spec;
  if (usedRaw || capabilities.some(({ accessType }) => accessType === 'block')) return undefined;
  // A copy has its source's filesystem, even if its own class names another one for new filesystems.
  if (source) return spec.filesystem;
  const fsType = capabilities.map(one => one.fsType).find(one => one !== undefined);
  const madeBytes = Math.max(0, requiredBytes - headerBytesOf(parameters));
  return { ...(fsType !== undefined && { fsType }), formatOptions: formatOptionsOf(parameters), madeBytes };
}

export function filesystemOfSource(source: Source): ExistingFilesystem | undefined {
  return 'volumeId' in source ? source.filesystem : filesystemOf(source);
}

/** Returns the size, in bytes, that a volume for this use needs at least; 0 for a share. */
export function neededBytesOf(
  { areShares }: Pick<Backend, 'areShares'>,
  { capabilities, parameters }: Use,
): number {
  return areShares ? 0 : minimumVolumeBytes(capabilities, parameters);
}

/** Throws INVALID_ARGUMENT for a copy with another encryption or filesystem than its source. */
export function requireSameContent({ capabilities, parameters }: Use, source: Source): void {
  const { id } = source;
  const faults: string[] = [];
  const requested = encryptionOf(parameters);
  const own = 'volumeId' in source ? source.encryption : encryptionOf(source.spec.parameters);
  if (own !== requested)
    faults.push(
      `parameter "encryption" is ${requested ? `"${requested}"` : 'not given'}, and the source "${id}" is ${own ? `encrypted with "${own}"` : 'not encrypted'}; request the same for the copy`,
    );
  const filesystem = filesystemOfSource(source);
  const possible = filesystem && candidatesOf(filesystem);
  for (const fsType of new Set(capabilities.map(one => one.fsType))) {
    const driver = driverOf(fsType ?? '');
    if (possible && driver && !possible.includes(driver))
      faults.push(
        `filesystem "${fsType}" is requested, but the source "${id}" has ${filesystem.fsType ?? possible.join(' or ')}; request the same for the copy`,
      );
  }
  if (faults.length > 0) throw invalidProblem(faults.join('; '));
}

/** Throws OUT_OF_RANGE when the filesystem cannot grow with the volume. */
export function requireReach(
  filesystem: ExistingFilesystem | undefined,
  parameters: Parameters,
  { fromBytes, toBytes }: { readonly fromBytes: number; readonly toBytes: number },
): void {
  if (!filesystem || toBytes <= fromBytes) return;
  const reachBytes = reachOfExisting(filesystem) + headerBytesOf(parameters);
  if (toBytes > reachBytes)
    throw new Problem(
      'OUT_OF_RANGE',
      `the filesystem cannot grow to ${toBytes} bytes: it was made to grow to at most ${reachBytes} bytes`,
    );
}
