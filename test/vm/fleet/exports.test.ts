import { testInMachine } from '../guests.ts';

testInMachine('a box that exports images and devices by its kernel, and a node on it', [
  'test/vm/guest/exports/kernel.guest.ts',
]);
