import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { topMount } from '../../../../src/lib/linux/mountinfo.ts';
import { measure, openRealBench, putUp, real, startAgent, takeDown } from '../../../harness/node.ts';
import { asVolume, makeDirectoryVolume, shareRequest } from '../../../harness/node/shares.ts';

async function open(t: TestContext) {
  const bench = openRealBench(t);
  const request = shareRequest(bench, makeDirectoryVolume(bench, 'v'));
  return { bench, request, agent: await startAgent(bench) };
}

test("two nodes write one volume at the same time, and neither loses the other's data", real(), async t => {
  const [first, second] = [await open(t), await open(t)];
  const { attachment } = first.request;
  const request = { ...second.request, attachment: { ...attachment, attachmentId: 'n2' } };
  await putUp(first.agent, first.request);
  const agent = { ...second.agent, trust: first.agent.trust };
  await putUp(agent, request);
  writeFileSync(`${first.request.targetPath}/one`, 'from n1');
  writeFileSync(`${request.targetPath}/two`, 'from n2');
  assert.equal(readFileSync(`${request.targetPath}/one`, 'utf8'), 'from n1');
  await takeDown(first.agent, first.request);
  assert.equal(readFileSync(`${request.targetPath}/two`, 'utf8'), 'from n2');
  await takeDown(agent, request);
});

for (const what of ['publish', 'attachment'])
  test(`a read-only ${what} prevents writes to a bound directory`, real(), async t => {
    const { agent, request } = await open(t);
    const { attachment } = request;
    const change =
      what === 'publish' ? { readonly: true } : { attachment: { ...attachment, readonly: true } };
    const asked = { ...request, ...change };
    await stage(agent, asked);
    await putUp(agent, asked);
    assert.throws(() => writeFileSync(`${request.targetPath}/file`, ''), { code: 'EROFS' });
    const usage = await measure(agent, { volumeId: 'c.v', path: request.targetPath });
    assert.ok(usage.bytes.total > 0);
    await takeDown(agent, asked);
    assert.equal(existsSync(request.targetPath), false);
  });

test("a read-only publish keeps the restrictions of its volume's mount", real(), async t => {
  const { bench, agent, request } = await open(t);
  const capability = { ...request.capability, mountFlags: ['noexec', 'nosuid', 'nodev'] };
  await putUp(agent, { ...request, capability, readonly: true });
  const options = topMount(await bench.host.mounts(), request.targetPath)?.options ?? [];
  for (const flag of ['ro', ...capability.mountFlags]) assert.ok(options.includes(flag), flag);
  await takeDown(agent, request);
});

test('a volume is bound with its flags, and continues after the agent restarted', real(), async t => {
  const { bench, agent, request } = await open(t);
  const flagged = { ...request, capability: { ...request.capability, mountFlags: ['noexec', 'nosuid'] } };
  await stage(agent, flagged);
  const next = await startAgent(bench);
  await putUp(next, flagged);
  const options = topMount(await bench.host.mounts(), request.targetPath)?.options ?? [];
  for (const flag of ['noexec', 'nosuid', 'rw']) assert.ok(options.includes(flag), flag);
  writeFileSync(`${request.targetPath}/file`, 'data');
  await takeDown(next, flagged);
});

test(
  'two volumes of one directory, and one within them, are mounted and unmounted independently',
  real(),
  async t => {
    const { bench, agent, request } = await open(t);
    const inner = shareRequest(bench, makeDirectoryVolume(bench, 'v/within'));
    const all = [asVolume(request, 'a'), asVolume(request, 'b'), asVolume(inner, 'c')];
    for (const operation of [stage, publish, unpublish, unstage])
      for (const each of all) await operation(agent, each);
    assert.deepEqual(agent.records.all(), []);
  },
);
