import { testInMachine } from '../guests.ts';

testInMachine('a box that exports its images by nbd-server, and the guide that makes one', [
  'test/vm/guest/exports/nbd.guest.ts',
  'test/vm/guest/storage-server.guest.ts',
]);
