import { testInMachine } from '../vm/guests.ts';
testInMachine('nvmet of cinder', ['test/cinder/nvmet.guest.ts'], {});
