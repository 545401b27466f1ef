import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { publish, unpublish, type PublishRequest } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage, type StageRequest } from '../../../../node-agent/volumes/stage.ts';
import { topMount } from '../../../../src/lib/linux/mountinfo.ts';
import { measure, openRealBench, startAgent, whyNoMachine } from '../../../harness/node-agent-bench.ts';
import { makeDirectoryVolume, shareRequest } from '../../../harness/node-agent-share-bench.ts';

const real = whyNoMachine === undefined ? {} : { skip: whyNoMachine };

type Request = StageRequest & PublishRequest;
const undo = [unpublish, unstage];

test('two nodes write one volume at the same time, and each keeps what the other wrote', real, async t => {
  const shared = openRealBench(t);
  const attachment = makeDirectoryVolume(shared, 'v');
  const nodes = await Promise.all(
    ['n1', 'n2'].map(async name => {
      const bench = openRealBench(t);
      const request = shareRequest(bench, { ...attachment, attachmentId: name });
      return { agent: await startAgent(bench), request };
    }),
  );
  for (const { agent, request } of nodes) {
    await stage(agent, request);
    await publish(agent, request);
  }
  const [first, second] = nodes;
  assert.ok(first && second);
  writeFileSync(`${first.request.targetPath}/one`, 'from n1');
  writeFileSync(`${second.request.targetPath}/two`, 'from n2');
  assert.equal(readFileSync(`${second.request.targetPath}/one`, 'utf8'), 'from n1');
  for (const operation of undo) await operation(first.agent, first.request);
  assert.equal(readFileSync(`${second.request.targetPath}/two`, 'utf8'), 'from n2');
  for (const operation of undo) await operation(second.agent, second.request);
  assert.equal(readFileSync(`${attachment.path}/one`, 'utf8'), 'from n1');
});

test(
  'a read-only publish, and a read-only attachment, keep a bound directory from being written',
  real,
  async t => {
    const bench = openRealBench(t);
    const agent = await startAgent(bench);
    const attachment = makeDirectoryVolume(bench, 'v');
    const rows = [
      { change: { readonly: true } },
      { change: { attachment: { ...attachment, readonly: true, attachmentId: 'a2' } } },
    ];
    for (const { change } of rows) {
      const request: Request = { ...shareRequest(bench, attachment), ...change };
      await stage(agent, request);
      await stage(agent, request);
      await publish(agent, request);
      assert.throws(() => writeFileSync(`${request.targetPath}/file`, ''), { code: 'EROFS' });
      const usage = await measure(agent, { volumeId: 'c.v', path: request.targetPath });
      assert.ok(usage.bytes.total > 0);
      for (const operation of undo) await operation(agent, request);
      assert.equal(existsSync(request.targetPath), false);
    }
  },
);

test('a volume is bound with its flags, and goes on after the agent started anew', real, async t => {
  const bench = openRealBench(t);
  const request = shareRequest(bench, makeDirectoryVolume(bench, 'v'));
  const flagged = { ...request, capability: { ...request.capability, mountFlags: ['noexec', 'nosuid'] } };
  await stage(await startAgent(bench), flagged);
  const agent = await startAgent(bench);
  await stage(agent, flagged);
  await publish(agent, flagged);
  const options = topMount(await bench.host.mounts(), request.targetPath)?.options ?? [];
  for (const flag of ['noexec', 'nosuid', 'rw']) assert.ok(options.includes(flag), flag);
  writeFileSync(`${request.targetPath}/file`, 'data');
  for (const operation of undo) await operation(agent, flagged);
});
