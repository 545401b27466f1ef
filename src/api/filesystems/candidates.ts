import {
  driverOf,
  encryptionOf,
  filesystemNames,
  formatOptionsOf,
  takesFormatOptions,
  type FilesystemName,
  type FormatOptions,
} from '../filesystems.ts';
import { takesMountOptions } from './mount-options.ts';
import type { Capability } from '../storage.ts';
import { luksHeaderBytes, luksMinimumBytes, minimumBytesOf, reachOf } from './sizes.ts';
import { maxOf, minOf } from '../../lib/numbers.ts';

type FilesystemRequest = {
  readonly fsType?: string | undefined;
  readonly mountFlags?: readonly string[] | undefined;
  readonly formatOptions: FormatOptions;
};

/** Lists the possible filesystems for a request; without a name in it, all filesystems that accept its options. */
export function candidatesOf({
  fsType = '',
  mountFlags = [],
  formatOptions,
}: FilesystemRequest): readonly FilesystemName[] {
  const named = driverOf(fsType);
  const names = fsType === '' ? filesystemNames : named ? [named] : [];
  return names.filter(name => takesFormatOptions(name, formatOptions) && takesMountOptions(name, mountFlags));
}

/** The filesystem request of an existing volume, which was made on a device of at least `madeBytes`. */
export type ExistingFilesystem = {
  readonly fsType?: string | undefined;
  readonly formatOptions: FormatOptions;
  readonly madeBytes: number;
};

/** Returns the maximum size of the filesystem after growth, in bytes; Infinity if it is unlimited or unknown. */
export function reachOfExisting({ fsType, formatOptions, madeBytes }: ExistingFilesystem): number {
  const names = candidatesOf({ fsType, formatOptions });
  const reaches = names.map(name => reachOf(name, formatOptions, madeBytes));
  return reaches.length > 0 ? maxOf(reaches) : Infinity;
}

type Parameters = Readonly<Record<string, string>>;

export function headerBytesOf(parameters: Parameters | undefined): number {
  return encryptionOf(parameters) === undefined ? 0 : luksHeaderBytes;
}

/** The size in bytes below which no volume on a device can be used so; 0 where nothing is known to need one. */
export function minimumVolumeBytes(
  capabilities: readonly Pick<Capability, 'accessType' | 'fsType' | 'mountFlags'>[],
  parameters: Parameters = {},
): number {
  const formatOptions = formatOptionsOf(parameters);
  const headerBytes = headerBytesOf(parameters);
  const mounted = capabilities.filter(({ accessType }) => accessType === 'mount');
  const ofFilesystems = mounted.map(capability => {
    const names = candidatesOf({ ...capability, formatOptions });
    return minOf(names.map(name => minimumBytesOf(name, formatOptions))) + headerBytes;
  });
  return maxOf(ofFilesystems.filter(Number.isFinite), headerBytes && luksMinimumBytes);
}
