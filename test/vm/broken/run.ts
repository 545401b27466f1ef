import { testInMachine } from '../guests.ts';

// The harness tests run this program: run.ts NAME runs a file that breaks its machine.
const [, , name = ''] = process.argv;
testInMachine(name, [`test/vm/broken/${name}.ts`], { silentMs: 60_000 });
