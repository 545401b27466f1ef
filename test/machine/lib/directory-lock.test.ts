import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { lockDirectory } from '../../../src/lib/directory-lock.ts';
import { openNode, type AgentProcess } from '../../harness/agent.ts';
import { isFull } from '../../harness/sample.ts';

/** One of two agents that were started together; the other one has ended, and says why. */
async function requireOne(both: readonly AgentProcess[], fault: string): Promise<AgentProcess> {
  const results = await Promise.allSettled(both.map(agent => agent.ready));
  const [alive, ...more] = both.filter((_, index) => results[index]?.status === 'fulfilled');
  assert.ok(alive && more.length === 0);
  assert.equal(both.find(agent => agent !== alive)?.stderr(), `fairlead node: ${fault}\n`);
  return alive;
}

/** How often two agents start together; in one of twenty times both lived once. */
const rounds = isFull ? 20 : 6;

for (const shared of ['state directory', 'socket'])
  test(`of two agents that are started together on one ${shared}, one lives and the other says why`, async t => {
    const node = openNode(t);
    const settings = (number: number): Record<string, string> =>
      shared === 'socket'
        ? { 'state-dir': `${node.state}-${number}`, 'registration-dir': '' }
        : { endpoint: `${node.socket}.${number}.sock`, 'registration-dir': '' };
    const fault =
      shared === 'socket'
        ? `socket "${node.socket}" is in use by a live instance`
        : `state directory "${node.state}/volumes" is in use by a live process`;
    for (let round = 0; round < rounds; round++) {
      const alive = await requireOne(
        [1, 2].map(number => node.startAgent(settings(number))),
        fault,
      );
      // Every other round begins after one that was killed.
      await alive.end(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    }
  });

test('a directory is held by one of many that ask at once in one process, until that one releases it', async t => {
  const { dir } = openNode(t);
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockDirectory(dir, 'directory')));
  const [held, ...more] = results.filter(({ status }) => status === 'fulfilled');
  assert.ok(held?.status === 'fulfilled' && more.length === 0);
  await assert.rejects(lockDirectory(dir, 'directory'), {
    message: `directory "${dir}" is in use by a live process`,
  });
  const waiting = lockDirectory(dir, 'directory', 60_000);
  held.value();
  held.value();
  (await waiting)();
});

test('a state directory that is a file is reported in one sentence', async t => {
  const node = openNode(t);
  writeFileSync(node.state, '');
  const agent = node.startAgent();
  await assert.rejects(agent.ready);
  assert.equal(
    agent.stderr(),
    `fairlead node: "${node.state}/volumes" is no directory, or lies below a file\n`,
  );
});
