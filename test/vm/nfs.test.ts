import { testInMachine } from './guests.ts';

testInMachine('a machine with the NFS server and client of its kernel', ['test/vm/guest/nfs.guest.ts']);
testInMachine('a machine whose NFS server exports the volumes of a gateway', [
  'test/vm/guest/nfs-dir.guest.ts',
]);
