import { testInMachine } from '../guests.ts';

// Run by the tests of the machine itself: run.ts NAME runs a file that breaks its machine.
const [, , name = ''] = process.argv;
testInMachine(name, [`test/vm/broken/${name}.ts`], { silentMs: 60_000 });
