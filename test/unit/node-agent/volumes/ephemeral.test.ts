import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNode } from '../../../../node-agent/node.ts';
import type { FakeFault } from '../../../fakes/host.ts';
import { MiB, openFakeBench } from '../../../harness/node-agent-bench.ts';
import {
  assertClean,
  call,
  context,
  ephemeralRequest,
  openEphemeral,
} from '../../../harness/node-agent-ephemeral-bench.ts';

for (const how of ['error', 'crash'] as const) {
  for (const when of ['before', 'after'] as const) {
    for (const heal of ['retry', 'unpublish'] as const) {
      test(`an ephemeral volume: the ${heal} heals every step that ends in ${how} ${when} its effect`, async () => {
        let hasReachedEnd = false;
        for (let step = 1; !hasReachedEnd; step++) hasReachedEnd = await failStep({ step, how, when }, heal);
      });
    }
  }
}

/** Fails one step of publish and unpublish, heals, and looks at what is left; true once there is no such step. */
async function failStep(fault: FakeFault, heal: 'retry' | 'unpublish'): Promise<boolean> {
  const bench = openFakeBench();
  const { host } = bench;
  let { ask } = await openEphemeral(bench);
  host.failAt(fault);
  let published = false;
  try {
    await ask('Publish');
    published = true;
    await ask('Unpublish');
  } catch {
    // What failed is tried again, or undone, below.
  }
  const hasReachedEnd = host.steps < fault.step;
  host.failAt(undefined);
  if (fault.how === 'crash') ({ ask } = await openEphemeral(bench));
  if (heal === 'retry' && !published) {
    await ask('Publish');
    assert.equal(host.state.mounts.at(-1)?.path, `${bench.directory}/pods/v`);
  }
  await ask('Unpublish');
  await ask('Unpublish');
  assertClean(bench);
  assert.ok(host.state.formatted.every(found => found === 'blank'));
  return hasReachedEnd;
}

test('a file that is there already is neither used nor removed', async () => {
  const bench = openFakeBench();
  const { ask, agent, directory } = await openEphemeral(bench);
  await ask('Publish');
  const [{ attachment } = assert.fail()] = agent.records.all();
  await ask('Unpublish');
  assert.ok(attachment.protocol === 'loop' && attachment.path.startsWith(`${directory}/`));
  const { paths, images } = bench.host.state;
  paths.set(attachment.path, 'filled');
  images.set(attachment.path, { sizeBytes: 64 * MiB, content: 'ext4', data: 'of somebody else' });
  await assert.rejects(ask('Publish'), { code: 'FAILED_PRECONDITION', message: /not recorded for volume/ });
  await ask('Unpublish');
  assert.equal(images.get(attachment.path)?.data, 'of somebody else');
});

test('an image that was replaced by a link is neither followed nor removed', async () => {
  const bench = openFakeBench();
  const { ask, agent } = await openEphemeral(bench);
  await ask('Publish');
  const [{ attachment } = assert.fail()] = agent.records.all();
  const path = attachment.protocol === 'loop' ? attachment.path : assert.fail();
  const { state } = bench.host;
  state.mounts = [];
  state.loops.clear();
  state.paths.set(path, 'link');
  for (const rpc of ['Publish', 'Unpublish'] as const)
    await assert.rejects(ask(rpc), { code: 'FAILED_PRECONDITION', message: /is no longer a file/ });
  assert.equal(state.paths.get(path), 'link');
});

test('nothing but commands, which have a deadline, touches what lies on the disk of ephemeral volumes', async () => {
  const bench = openFakeBench();
  const { agent, directory } = await openEphemeral(bench);
  const { host } = bench;
  const guard =
    <T>(work: (path: string) => Promise<T>) =>
    async (path: string): Promise<T> => {
      assert.ok(!path.startsWith(directory), `"${path}" is touched by the agent itself`);
      return work(path);
    };
  const { kindOf, makeFile, removeFile, readText } = host;
  const guarded = {
    ...agent,
    host: {
      ...host,
      kindOf: guard(kindOf),
      makeFile: guard(makeFile),
      removeFile: guard(removeFile),
      readText: guard(readText),
    },
  };
  const node = createNode(guarded, { nodeId: 'n', maxVolumes: 0, topology: async () => ({}) });
  for (let i = 0; i < 2; i++) await node.NodePublishVolume?.(ephemeralRequest(bench) as never, call);
  await node.NodeUnpublishVolume?.(ephemeralRequest(bench) as never, call);
  assertClean(bench);
});

test('an ephemeral volume is never staged, unstaged, or published elsewhere or with another size', async () => {
  const bench = openFakeBench();
  const { ask } = await openEphemeral(bench);
  await ask('Publish');
  const stagePath = { staging_target_path: `${bench.directory}/stage/v` };
  const loop = { attachmentId: 'a', sizeBytes: '1', readonly: 'false', mayFormat: 'true' };
  const publish_context = { protocol: 'loop', path: bench.makeImage('other'), ...loop };
  const rows = [
    () => ask('Stage', { ...stagePath, publish_context, volume_context: {} }),
    () => ask('Unstage', { staging_target_path: `${bench.directory}/pods/v` }),
    () => ask('Publish', { target_path: `${bench.directory}/pods/w` }),
    () => ask('Unpublish', { target_path: `${bench.directory}/pods/w` }),
  ];
  for (const row of rows) await assert.rejects(row(), { code: 'FAILED_PRECONDITION' });
  const larger = { volume_context: { ...context, size: '33Mi' } };
  await assert.rejects(ask('Publish', larger), { code: 'ALREADY_EXISTS', message: /has 33554432 bytes/ });
  await ask('Unpublish');
});

test('a used ephemeral volume that cannot be mounted again keeps its data until it is unpublished', async () => {
  const bench = openFakeBench();
  const { ask } = await openEphemeral(bench);
  await ask('Publish');
  const { state } = bench.host;
  // As after a reboot of the node.
  state.mounts = [];
  state.loops.clear();
  const [image] = state.images.values();
  Object.assign(image ?? {}, { content: 'garbage', data: 'precious' });
  await assert.rejects((await openEphemeral(bench)).ask('Publish'), { code: 'FAILED_PRECONDITION' });
  assert.equal([...state.images.values()][0]?.data, 'precious');
  assert.deepEqual(state.formatted, ['blank']);
  await ask('Unpublish');
  assert.equal(state.images.size, 0);
});
