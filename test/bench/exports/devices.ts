import { loadZfs, makeDataset } from '../../vm/targets/dataset.ts';
import type { PoolPlace } from '../../vm/targets/exported.ts';
import { gateOf, makeThinPool } from '../../vm/targets/thin-pool.ts';
import type { CleanupScope } from '../../vm/targets/undo.ts';

/** A kind of volumes that are devices. */
export type DeviceKind = {
  readonly name: string;
  makePlace(t: CleanupScope): PoolPlace;
  /** The device between a volume and its export, by the path of the volume's device; absent: there is none. */
  readonly gateOf?: (path: string) => string;
  /** The command that takes a snapshot, as users know it, and its words for the volume with this device. */
  readonly command: string;
  takeByHand(path: string, name: string): readonly [string, ...string[]];
};

/** Room for each snapshot's own blocks. */
const sizeMiB = 1_024;

export const thinVolume: DeviceKind = {
  name: 'thin volume',
  makePlace: t => makeThinPool(t, { sizeMiB }),
  gateOf,
  command: 'lvcreate --snapshot',
  takeByHand: (path, name) => ['lvm', 'lvcreate', '--snapshot', '--name', name, path.slice('/dev/'.length)],
};

export const zvol: DeviceKind = {
  name: 'zvol',
  makePlace(t) {
    loadZfs();
    return makeDataset(t, { sizeMiB });
  },
  command: 'zfs snapshot',
  takeByHand: (path, name) => ['zfs', 'snapshot', `${path.slice('/dev/zvol/'.length)}@${name}`],
};
