import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { lockDirectory } from '../../../src/lib/linux/directory-lock.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { serveCsi } from '../../harness/csi-serving.ts';
import { prepareNode } from '../../harness/node/program.ts';
import { type ProgramProcess } from '../../harness/program.ts';
import { isFull } from '../../harness/sample.ts';
import { temporaryDirectory } from '../../harness/temporary.ts';

/** Returns the survivor of two agents that were started together; the other one has ended and reported the reason. */
async function requireOne(both: readonly ProgramProcess[], fault: string): Promise<ProgramProcess> {
  const results = await Promise.allSettled(both.map(agent => agent.ready));
  const [alive, ...more] = both.filter((_, index) => results[index]?.status === 'fulfilled');
  assert.ok(alive && more.length === 0);
  assert.equal(both.find(agent => agent !== alive)?.stderr(), `fairlead node: ${fault}\n`);
  return alive;
}

/** The number of starts of two agents together; with a race both ran in one of twenty. */
const rounds = isFull ? 20 : 6;

for (const shared of ['state directory', 'socket'])
  test(`two agents start together on one ${shared}, one keeps running and the other reports the reason`, async t => {
    const node = prepareNode(t);
    const settings = (number: number): Record<string, string> =>
      shared === 'socket'
        ? { 'state-dir': `${node.state}-${number}`, 'registration-dir': '' }
        : { endpoint: `${node.socket}.${number}.sock`, 'registration-dir': '' };
    const fault =
      shared === 'socket'
        ? `socket "${node.socket}" is in use by a live instance`
        : `state directory "${node.state}" is in use by a live process`;
    for (let round = 0; round < rounds; round++) {
      const alive = await requireOne(
        [1, 2].map(number => node.startAgent(settings(number))),
        fault,
      );
      // Every second round begins after an agent that was killed.
      await alive.end(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    }
  });

test('one of many concurrent holders in a process gets a directory, until it releases it', async t => {
  const { dir } = prepareNode(t);
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockDirectory(dir, 'directory')));
  const [held, ...more] = results.filter(({ status }) => status === 'fulfilled');
  assert.ok(held?.status === 'fulfilled' && more.length === 0);
  await assert.rejects(lockDirectory(dir, 'directory'), {
    message: `directory "${dir}" is in use by a live process`,
  });
  const waiting = lockDirectory(dir, 'directory', { waitMs: 60_000 });
  held.value();
  held.value();
  (await waiting)();
});

test('a state directory that is a file is reported in one sentence', async t => {
  const node = prepareNode(t);
  writeFileSync(node.state, '');
  const agent = node.startAgent();
  await assert.rejects(agent.ready);
  assert.equal(
    agent.stderr(),
    `fairlead node: "${node.state}/volumes" is not a directory, or a part of its path is a file\n`,
  );
});

test('another user who can read a directory cannot prevent its locking', async t => {
  const { dir } = prepareNode(t);
  chmodSync(dir, 0o755);
  holdShared(t, dir);
  const release = await lockDirectory(dir, 'directory');
  assert.equal(statSync(join(dir, '.lock')).mode & 0o777, 0o600);
  release();
});

test('a lock file that is a link, or that other users can open, is refused', async t => {
  const { dir } = prepareNode(t);
  const [lock, elsewhere] = [join(dir, '.lock'), join(dir, 'elsewhere')];
  symlinkSync(elsewhere, lock);
  await assert.rejects(lockDirectory(dir, 'directory'), {
    message: `cannot lock directory "${dir}": cannot open "${lock}": it is a link where a file is needed, or a circle of links`,
  });
  assert.ok(!existsSync(elsewhere));
  rmSync(lock);
  writeFileSync(lock, '', { mode: 0o644 });
  await assert.rejects(
    lockDirectory(dir, 'directory'),
    /"[^"]+\/\.lock" is not a file of this process's user/,
  );
});

test('a wait for another process is logged', async t => {
  const { dir } = prepareNode(t);
  const release = await lockDirectory(dir, 'directory');
  const said: string[] = [];
  const log = {
    ...silentLog,
    info: (message: string, fields = {}) => said.push(message + JSON.stringify(fields)),
  };
  await assert.rejects(lockDirectory(dir, 'directory', { waitMs: 1_500, log }));
  release();
  assert.deepEqual(said, [
    `another process holds a lock; waiting for it${JSON.stringify({ detail: `directory "${dir}"` })}`,
  ]);
});

test("a server starts even if another user holds a lock on its socket's directory", async t => {
  const directory = temporaryDirectory(t);
  holdShared(t, directory);
  const socketPath = join(directory, 'csi.sock');
  const { csi, server } = await serveCsi(t, { socketPath });
  await csi.identity.Probe({});
  await server.close();
  assert.ok(!existsSync(socketPath));
});

/** Holds the shared lock that a user with read access to a directory can get, until the test ends. */
function holdShared(t: TestContext, directory: string): void {
  const descriptor = openSync(directory, 'r');
  t.after(() => closeSync(descriptor));
  const { status } = spawnSync('flock', ['--shared', '--nonblock', '3'], {
    stdio: ['ignore', 'ignore', 'ignore', descriptor],
  });
  assert.equal(status, 0);
}
