import { whyNoZfs, zfsRoot } from '../../zfs/zfs.ts';
import { testInMachine } from '../guests.ts';

testInMachine('a box with ZFS: shares on filesystems of their own', ['test/vm/guest/zfs/shares.guest.ts'], {
  root: zfsRoot,
  why: whyNoZfs,
});
