import { runProgram, type RunningProgram } from '../../../src/lib/lifecycle.ts';
import { silentLog } from '../../../src/lib/log.ts';

const forever = (): Promise<never> => new Promise(() => {});

const behaviours: Readonly<Record<string, () => Promise<RunningProgram>>> = {
  fails: () => Promise.reject(new Error('it cannot be')),
  'fails-in-lines': () => Promise.reject(new Error('first\n  second')),
  'fails-without-words': () =>
    Promise.reject(Object.assign(new Error('no'), { message: '', code: 'ECONNREFUSED' })),
  runs: async () => up(async () => void process.stderr.write('closed\n')),
  'close-fails': async () => up(() => Promise.reject(new Error('no'))),
  'close-hangs': async () => up(forever),
  'starts-for-ever': () => {
    process.send?.('starting');
    return forever();
  },
};

setInterval(() => {}, 1_000);
const start = behaviours[process.argv[2] ?? ''] ?? (() => Promise.reject(new Error('unknown behaviour')));
await runProgram({ name: 'toy', log: silentLog, start });

function up(close: () => Promise<void>): RunningProgram {
  return { ready: { toy: 'unix:///toy.sock' }, close };
}
