import { testInMachine } from './guests.ts';

testInMachine('a machine whose NFS server is cut off', ['test/vm/guest/nfs-hung.guest.ts']);
