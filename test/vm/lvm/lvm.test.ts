import { testInMachine } from '../guests.ts';

testInMachine(
  'a box with LVM: volumes of a thin pool',
  ['test/vm/guest/lvm/backend.guest.ts'],
  // No udev runs in the machine, so LVM makes its device nodes itself.
  { env: { DM_DISABLE_UDEV: '1' } },
);
