import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { describeStartFault } from '../../../src/lib/lifecycle.ts';

const program = fileURLToPath(new URL('program.ts', import.meta.url));

type Started = {
  readonly child: ChildProcess;
  readonly stderr: Promise<string>;
  readonly exit: Promise<unknown[]>;
};

/** Starts the small program that behaves as it is told; it ends with its test. */
function start(t: TestContext, behaviour: string): Started {
  const child = fork(program, [behaviour], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  t.after(() => child.kill('SIGKILL'));
  assert.ok(child.stderr);
  return { child, stderr: text(child.stderr), exit: once(child, 'exit') };
}

for (const [behaviour, line] of [
  ['fails', 'fairlead toy: it cannot be\n'],
  ['fails-in-lines', 'fairlead toy: first second\n'],
  ['fails-without-words', 'fairlead toy: ECONNREFUSED\n'],
] as const) {
  test(`a start that ${behaviour} is one line on standard error and status 1`, async t => {
    const { stderr, exit } = start(t, behaviour);
    assert.deepEqual(await exit, [1, null]);
    assert.equal(await stderr, line);
  });
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} ends a program in good order, with status 0`, async t => {
    const { child, stderr, exit } = start(t, 'runs');
    assert.deepEqual((await once(child, 'message'))[0], { ready: { toy: 'unix:///toy.sock' } });
    child.kill(signal);
    assert.deepEqual(await exit, [0, null]);
    assert.equal(await stderr, 'closed\n');
  });
}

test('an end that fails is status 1', async t => {
  const { child, exit } = start(t, 'close-fails');
  await once(child, 'message');
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [1, null]);
});

test('an end that takes for ever is cut short, with status 1', async t => {
  const { child, exit } = start(t, 'close-hangs');
  await once(child, 'message');
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [1, null]);
});

test('a program ends when whoever started it is gone', async t => {
  const { child, exit } = start(t, 'runs');
  await once(child, 'message');
  child.disconnect();
  assert.deepEqual(await exit, [1, null]);
});

test('a program ends when whoever started it goes away while it starts', async t => {
  const { child, exit } = start(t, 'starts-for-ever');
  await once(child, 'message');
  child.disconnect();
  assert.deepEqual(await exit, [1, null]);
});

const faults: readonly (readonly [object, string])[] = [
  [{ code: 'EADDRINUSE', address: '127.0.0.1', port: 80 }, '127.0.0.1:80 is already in use'],
  [{ code: 'EADDRINUSE' }, 'message'],
  [{ code: 'EACCES', syscall: 'open', path: '/x' }, '"/x" cannot be used: no permission'],
  [{ code: 'EPERM' }, 'message'],
  [{ code: 'EIO' }, 'message'],
];

for (const [fields, sentence] of faults) {
  test(`a fault ${JSON.stringify(fields)} reads "${sentence}"`, () => {
    assert.equal(describeStartFault(Object.assign(new Error('message'), fields)), sentence);
  });
}

test('what is thrown and is no error is told as it is', () => assert.equal(describeStartFault('why'), 'why'));
