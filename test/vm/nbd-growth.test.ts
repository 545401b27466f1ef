import { testInMachine } from './guests.ts';

testInMachine('a machine whose volumes over NBD grow while they are used', [
  'test/vm/guest/nbd-growth.guest.ts',
]);
testInMachine('a machine on which growing over NBD fails', ['test/vm/guest/nbd-growth-faults.guest.ts']);
