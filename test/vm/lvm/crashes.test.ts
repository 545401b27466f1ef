import { testInMachine } from '../guests.ts';

testInMachine('a box with LVM: gateways that end in the middle', ['test/vm/guest/lvm/crashes.guest.ts']);
