import { whyNoZfs, zfsRoot } from '../../zfs/zfs.ts';
import { testInMachine } from '../guests.ts';

testInMachine('a box with ZFS: gateways that end in the middle', ['test/vm/guest/zfs/crashes.guest.ts'], {
  root: zfsRoot,
  why: whyNoZfs,
});
