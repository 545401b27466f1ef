import { whyNoCinder } from '../cinder/cinder.ts';
import { testInMachine } from '../vm/guests.ts';

testInMachine("a machine with Cinder's way to export volumes over iSCSI", ['test/cinder/lio.guest.ts'], {
  why: whyNoCinder || undefined,
});
