import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { lockDirectory } from '../../../src/lib/directory-lock.ts';
import { openNode, type AgentProcess } from '../../harness/agent.ts';

const locks = (state: string): readonly string[] =>
  readdirSync(state).filter(name => name.startsWith('lock'));

/** Which of the agents came up; those that did not have ended. */
async function living(agents: readonly AgentProcess[]): Promise<readonly AgentProcess[]> {
  const results = await Promise.allSettled(agents.map(agent => agent.ready));
  return agents.filter((_, index) => results[index]?.status === 'fulfilled');
}

for (const before of ['none before', 'one that was killed before'])
  test(`of two agents that are started together, with ${before}, one lives and the other says why`, async t => {
    const node = openNode(t);
    for (let round = 0; round < 20; round++) {
      if (before === 'none before') rmSync(node.state, { recursive: true, force: true });
      const both = [1, 2].map(number =>
        node.startAgent({ endpoint: `${node.socket}.${number}.sock`, 'registration-dir': '' }),
      );
      const alive = await living(both);
      assert.equal(alive.length, 1, `round ${round}`);
      const other = both.find(agent => !alive.includes(agent));
      const fault = `fairlead node: state directory "${node.state}" is in use by a live process\n`;
      assert.equal(other?.stderr(), fault);
      assert.equal(locks(node.state).length, 1);
      await alive[0]?.end('SIGKILL');
    }
  });

test('of two agents that are started together on one CSI socket, one lives and the other says why', async t => {
  const node = openNode(t);
  for (let round = 0; round < 20; round++) {
    const both = [1, 2].map(number =>
      node.startAgent({ 'state-dir': `${node.state}-${number}`, 'registration-dir': '' }),
    );
    const alive = await living(both);
    assert.equal(alive.length, 1, `round ${round}`);
    const other = both.find(agent => !alive.includes(agent));
    assert.equal(other?.stderr(), `fairlead node: socket "${node.socket}" is in use by a live instance\n`);
    // Every other round begins with a dead socket.
    await alive[0]?.end(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
  }
});

test('a state directory is held by its first agent for as long as that lives, by however long a name', async t => {
  const node = openNode(t);
  const state = `${node.dir}/${'s'.repeat(200)}`;
  mkdirSync(state);
  const first = node.startAgent({ 'state-dir': state });
  await first.ready;
  for (let round = 0; round < 3; round++)
    await assert.rejects(lockDirectory(state, 'directory'), {
      message: `directory "${state}" is in use by a live process`,
    });
  assert.deepEqual(locks(state), ['lock.1']);
  await first.end('SIGKILL');
  await lockDirectory(state, 'directory');
  await assert.rejects(lockDirectory(state, 'directory'), /in use/);
  assert.deepEqual(locks(state), ['lock.2']);
});

test('of many that ask at once in one process, one is the only agent', async t => {
  const { dir } = openNode(t);
  const results = await Promise.allSettled(Array.from({ length: 50 }, () => lockDirectory(dir, 'directory')));
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.equal(locks(dir).length, 1);
});

test('what is no socket is neither taken for a lock nor removed', async t => {
  const { dir } = openNode(t);
  writeFileSync(`${dir}/lock`, 'precious');
  writeFileSync(`${dir}/lock.3`, 'precious');
  await assert.rejects(lockDirectory(dir, 'directory'), {
    message: `"${dir}/lock.3" exists and is not a socket`,
  });
  for (const name of ['lock', 'lock.3']) assert.equal(readFileSync(`${dir}/${name}`, 'utf8'), 'precious');
  assert.deepEqual(locks(dir), ['lock', 'lock.3']);
});

test('a state directory that is a file is told in one sentence', async t => {
  const node = openNode(t);
  writeFileSync(node.state, '');
  const agent = node.startAgent();
  await assert.rejects(agent.ready);
  assert.equal(agent.stderr(), `fairlead node: "${node.state}" is no directory, or lies below a file\n`);
});
