import { testInMachine } from './guests.ts';

testInMachine('a machine with the NFS server and client of its kernel', [
  'test/vm/guest/nfs.guest.ts',
  'test/vm/guest/nfs-dir.guest.ts',
  // The last file, so that a hanging test does not affect the others.
  'test/vm/guest/nfs-hung.guest.ts',
]);

testInMachine('a machine that exports directories by its own NFS server, and mounts them', [
  'test/vm/guest/exports/nfs.guest.ts',
]);
