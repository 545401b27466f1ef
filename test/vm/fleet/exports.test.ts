import { testInMachine } from '../guests.ts';

testInMachine('a box that exports its images, and a node on it', [
  'test/vm/guest/exports/kernel.guest.ts',
  'test/vm/guest/exports/nbd.guest.ts',
  'test/vm/guest/storage-server.guest.ts',
]);
