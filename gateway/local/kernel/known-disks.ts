import type { KnownVolume } from '../../backend.ts';
import type { ExportedVolume } from '../../export.ts';
import { homeOf, readSysfs } from './sysfs.ts';

/**
 * Remembers the disks that a report of the pool has shown to be those of volumes. While the kernel has the same disks
 * in the same state, the next attachment needs no report.
 */
export function createKnownDisks() {
  const known = new Map<string, { readonly volume: ExportedVolume; readonly disks: readonly Disk[] }>();
  return {
    /** Remembers the disk of a volume, and the disks below it. Returns the volume. */
    add(volume: ExportedVolume, ...below: readonly string[]): ExportedVolume {
      const disks = [volume.path, ...below].map(path => ({ path, state: stateOf(path) }));
      known.set(volume.id, { volume, disks });
      return volume;
    },
    forget: (id: string): unknown => known.delete(id),
    /** Finds a volume whose disks are unchanged and large enough. */
    find({ id, nonce, sizeBytes }: KnownVolume): ExportedVolume | undefined {
      const { volume, disks } = known.get(id) ?? {};
      if (!volume || !disks || volume.nonce !== nonce || volume.sizeBytes < sizeBytes) return undefined;
      return disks.every(isUnchanged) ? volume : undefined;
    },
  };
}

type Disk = { readonly path: string; readonly state: string | undefined };

function isUnchanged({ path, state }: Disk): boolean {
  return state !== undefined && stateOf(path) === state;
}

/**
 * The number of a disk, which the kernel gives only once, and its size; undefined if it is missing or suspended, or
 * where kernels older than 5.15 do not number disks.
 */
function stateOf(path: string): string | undefined {
  const home = homeOf(path);
  const [number, size, suspended] = ['diskseq', 'size', 'dm/suspended'].map(
    name => home && readSysfs(`${home}/${name}`),
  );
  return number === undefined || suspended === '1' ? undefined : `${number} ${size}`;
}
