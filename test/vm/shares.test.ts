import { testInMachine } from './guests.ts';

testInMachine('a machine with the NFS server and client of its kernel', [
  'test/vm/guest/nfs.guest.ts',
  'test/vm/guest/nfs-dir.guest.ts',
  // Last: whatever hangs there hangs nobody else.
  'test/vm/guest/nfs-hung.guest.ts',
]);
