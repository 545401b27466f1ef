import { testInMachine } from './guests.ts';

testInMachine('a machine with the NFS server and client of its kernel', ['test/vm/guest/nfs.guest.ts']);
