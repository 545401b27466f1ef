import { whyNoZfs, zfsRoot } from '../../zfs/zfs.ts';
import { testInMachine } from '../guests.ts';

const options = { root: zfsRoot, why: whyNoZfs };

testInMachine(
  'a box with ZFS: volumes of a dataset',
  ['test/vm/guest/zfs/backend.guest.ts', 'test/vm/guest/zfs/crashes.guest.ts'],
  options,
);

testInMachine(
  'a box that exports zvols by its kernel, and a node on it',
  ['test/vm/guest/exports/kernel.guest.ts'],
  { ...options, env: { DEVICES: 'zfs' } },
);
