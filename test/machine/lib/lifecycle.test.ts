import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { describeStartFault } from '../../../src/lib/lifecycle.ts';

const program = fileURLToPath(new URL('program.ts', import.meta.url));

type StartedProgram = {
  readonly child: ChildProcess;
  readonly stderr: Promise<string>;
  readonly exit: Promise<unknown[]>;
};

/** Starts a small program with the behaviour that its argument names; it ends with its test. */
function start(t: TestContext, behaviour: string): StartedProgram {
  const child = fork(program, [behaviour], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  t.after(() => child.kill('SIGKILL'));
  assert.ok(child.stderr);
  return { child, stderr: text(child.stderr), exit: once(child, 'exit') };
}

for (const [behaviour, line] of [
  ['fails', 'fairlead toy: it cannot be\n'],
  ['fails-in-lines', 'fairlead toy: first second\n'],
  [
    'fails-without-words',
    'fairlead toy: it refuses connections; start the server there, or correct the address\n',
  ],
] as const)
  test(`a start that ${behaviour} prints one line on standard error and exits with status 1`, async t => {
    const { stderr, exit } = start(t, behaviour);
    assert.deepEqual(await exit, [1, null]);
    assert.equal(await stderr, line);
  });

const ends: readonly (readonly [behaviour: string, end: NodeJS.Signals | 'disconnect', status: number])[] = [
  ['runs', 'SIGTERM', 0],
  ['runs', 'SIGINT', 0],
  ['runs', 'SIGHUP', 0],
  ['close-fails', 'SIGTERM', 1],
  ['close-hangs', 'SIGTERM', 1],
  ['runs', 'disconnect', 1],
  ['starts-for-ever', 'disconnect', 1],
];
for (const [behaviour, end, status] of ends)
  test(`a program that ${behaviour} ends on ${end} with status ${status}`, async t => {
    const { child, stderr, exit } = start(t, behaviour);
    const [message] = await once(child, 'message');
    if (behaviour === 'runs') assert.deepEqual(message, { ready: { toy: 'unix:///toy.sock' } });
    if (end === 'disconnect') child.disconnect();
    else child.kill(end);
    assert.deepEqual(await exit, [status, null]);
    assert.equal(await stderr, status === 0 ? 'closed\n' : '');
  });

const faults: readonly (readonly [fault: unknown, sentence: string])[] = [
  [{ code: 'EADDRINUSE', address: '127.0.0.1', port: 80 }, '127.0.0.1:80 is already in use'],
  [{ code: 'EADDRINUSE' }, 'message'],
  [{ code: 'EACCES', syscall: 'open', path: '/x' }, '"/x" cannot be used: permission denied'],
  [
    { code: 'ENOTFOUND', hostname: 'gateway.invalid' },
    '"gateway.invalid" has an unknown host name; correct the name, or add it to the DNS',
  ],
  [{ code: 'EIO' }, 'message'],
  ['why', 'why'],
];
for (const [fault, sentence] of faults)
  test(`a fault ${JSON.stringify(fault)} reads "${sentence}"`, () => {
    const error = typeof fault === 'object' ? Object.assign(new Error('message'), fault) : fault;
    assert.equal(describeStartFault(error), sentence);
  });

test('a fault of a file that a setting names begins with the flag', () => {
  const fault = Object.assign(new Error('message'), { code: 'EACCES', path: '/x' });
  const named = { dir: '/y', 'token-file': '/x' };
  assert.equal(describeStartFault(fault, named), '--token-file: "/x" cannot be used: permission denied');
  assert.equal(describeStartFault(fault, { dir: '/y' }), '"/x" cannot be used: permission denied');
  assert.equal(describeStartFault(new Error('why'), { dir: undefined }), 'why');
});
