import { testInMachine } from '../guests.ts';

testInMachine('a box with LVM: many thin volumes', ['test/vm/guest/many-volumes.guest.ts']);
