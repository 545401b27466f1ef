import { whyNoZfs, zfsRoot } from '../../zfs/zfs.ts';
import { testInMachine } from '../guests.ts';

testInMachine(
  'a box that exports zvols by its kernel, and a node on it',
  ['test/vm/guest/exports/kernel.guest.ts'],
  { root: zfsRoot, why: whyNoZfs, env: { DEVICES: 'zfs' } },
);
