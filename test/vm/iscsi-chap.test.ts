import { testInMachine } from './guests.ts';

testInMachine('a machine with an iSCSI target that demands CHAP', ['test/vm/guest/iscsi-chap.guest.ts']);
