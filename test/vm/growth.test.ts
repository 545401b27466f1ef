import { testInMachine } from './guests.ts';

testInMachine('a machine whose kernel lets ext4 grow while it is mounted', ['test/vm/guest/growth.guest.ts']);
