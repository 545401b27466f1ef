import { testInMachine } from '../guests.ts';

testInMachine('a box with LVM: volumes of a thin pool', [
  'test/vm/guest/lvm/backend.guest.ts',
  'test/vm/guest/lvm/gates.guest.ts',
]);
