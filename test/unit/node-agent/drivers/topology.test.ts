import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createPlugin } from '../../../../node-agent/drivers/plugin.ts';
import { openDriverTopology } from '../../../../node-agent/drivers/topology.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { serveCsi } from '../../../harness/csi-serving.ts';
import { createMemoryLog } from '../../../harness/gateway.ts';
import { openFakeBench, startAgent } from '../../../harness/node.ts';
import { temporaryDirectory } from '../../../harness/temporary.ts';

type Answer = Readonly<Record<string, string>> | Problem;

/** Opens an agent with these drivers, whose node plugins answer with `answers`; a driver without an answer has no plugin. */
async function open(t: TestContext, answers: Record<string, Answer>, ...silent: readonly string[]) {
  const served = Object.keys(answers).map(async name => {
    const NodeGetInfo = async () => {
      const answer = answers[name];
      if (answer instanceof Problem) throw answer;
      return { node_id: 'n', ...(answer && { accessible_topology: { segments: answer } }) };
    };
    const { server, socketPath } = await serveCsi(t, { node: { NodeGetInfo } });
    return { server, plugin: createPlugin(name, socketPath) };
  });
  const serving = await Promise.all(served);
  const missing = silent.map(name => createPlugin(name, join(temporaryDirectory(t), 'csi.sock')));
  const plugins = [...serving.map(({ plugin }) => plugin), ...missing];
  const bench = openFakeBench();
  const { log, lines } = createMemoryLog();
  const agent = { ...(await startAgent(bench)), log };
  const path = `${bench.directory}/state/driver-topology.json`;
  const start = () => openDriverTopology(plugins, path, agent);
  const stop = () => Promise.all(serving.map(({ server }) => server.close()));
  return { start, stop, lines, path, host: bench.host };
}

test('a driver whose node plugin fails or is down keeps its last topology, also after a restart of the agent', async t => {
  const answers: Record<string, Answer> = { 'old.example': { zone: 'a' }, 'new.example': { rack: 'r1' } };
  const { start, stop, lines } = await open(t, answers);
  assert.deepEqual(await (await start())(), { zone: 'a', rack: 'r1' });
  answers['old.example'] = new Problem('INTERNAL', 'no metadata');
  answers['new.example'] = { rack: 'r2' };
  const read = await start();
  assert.deepEqual(await read(), { zone: 'a', rack: 'r2' });
  assert.match(
    lines.join('\n'),
    /^warn a driver's last topology is reported.*\\"old\.example\\": no metadata/,
  );
  await stop();
  assert.deepEqual(await (await start())(), { zone: 'a', rack: 'r2' });
  assert.equal(lines.length, 3);
});

test('a driver that was never seen is waited for, whatever its error, and others are remembered', async t => {
  const answers: Record<string, Answer> = {
    'old.example': { zone: 'a' },
    'new.example': new Problem('UNIMPLEMENTED', 'no such call'),
  };
  const { start, host, path } = await open(t, answers);
  const read = await start();
  const message = /^waiting for the topology of a driver: .*\(driver "new\.example": no such call\)$/;
  await assert.rejects(read(), { code: 'UNAVAILABLE', message });
  assert.deepEqual(JSON.parse((await host.readText(path)) ?? ''), { 'old.example': { zone: 'a' } });
  answers['new.example'] = {};
  assert.deepEqual(await read(), { zone: 'a' });
  await assert.rejects((await (await open(t, {}, 'down.example')).start())(), { code: 'UNAVAILABLE' });
});

test('drivers that disagree about a topology key are refused, and those that agree are not', async t => {
  const answers: Record<string, Answer> = { 'old.example': { zone: 'a' }, 'new.example': { zone: 'a' } };
  const read = await (await open(t, answers)).start();
  assert.deepEqual(await read(), { zone: 'a' });
  answers['new.example'] = { zone: 'b' };
  await assert.rejects(read(), {
    code: 'FAILED_PRECONDITION',
    message: /^drivers "old\.example" and "new\.example" tell "a" and "b" for the topology key "zone"/,
  });
});

test('a topology that cannot be kept is still reported, and a damaged file is made again', async t => {
  const { start, host, path, lines } = await open(t, { 'old.example': { zone: 'a' } });
  await host.writeDurably(path, '{"old.exam');
  const read = await start();
  host.failAt({ step: 1, when: 'before', how: 'error' });
  assert.deepEqual(await read(), { zone: 'a' });
  assert.match(lines.join('\n'), /^warn cannot keep the topology/);
  host.failAt(undefined);
  await read();
  assert.equal(await host.readText(path), '{"old.example":{"zone":"a"}}');
});
