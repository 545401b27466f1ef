import { testInMachine } from '../guests.ts';

testInMachine('the guide that makes a storage server', ['test/vm/guest/storage-server.guest.ts']);
