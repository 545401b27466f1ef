import { whyNoZfs, zfsRoot } from '../../zfs/zfs.ts';
import { testInMachine } from '../guests.ts';

testInMachine('a box with ZFS: many zvols', ['test/vm/guest/many-volumes.guest.ts'], {
  root: zfsRoot,
  why: whyNoZfs,
  env: { DEVICES: 'zfs' },
});
