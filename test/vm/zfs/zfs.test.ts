import { whyNoZfs, zfsRoot } from '../../zfs/zfs.ts';
import { testInMachine } from '../guests.ts';

testInMachine('a box with ZFS: udev', ['test/vm/guest/zfs/udev.guest.ts'], { root: zfsRoot, why: whyNoZfs });

testInMachine('a box with ZFS: volumes of a dataset', ['test/vm/guest/zfs/backend.guest.ts'], {
  root: zfsRoot,
  why: whyNoZfs,
});
