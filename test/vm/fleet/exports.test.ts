import { testInMachine } from '../guests.ts';

testInMachine(
  'a box that exports images and devices by its kernel, and a node on it',
  ['test/vm/guest/exports/kernel.guest.ts'],
  // No udev runs in the machine, so LVM makes its device nodes itself.
  { env: { DM_DISABLE_UDEV: '1' } },
);
