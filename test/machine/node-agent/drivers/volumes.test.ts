import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openDriverVolumes } from '../../../../node-agent/drivers/volumes.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { driverAttachment as attachment } from '../../../fakes/storages/node-plugin.ts';
import { mountsBelow } from '../../../harness/machine.ts';
import { openRealBench, real, startAgent } from '../../../harness/node.ts';
import { serveCsi } from '../../../harness/csi-serving.ts';

type Call = { readonly rpc: string; readonly request: Readonly<Record<string, unknown>> };

/** The mistakes of a node plugin. */
type Plugin = { nodeId?: string; mountsNothing?: boolean; leavesMounts?: boolean; refuses?: Problem };

const call = { deadlineMs: Infinity };
const secrets = {
  'publish-context/device': 'vdb',
  'volume-context/share': 'one',
  'stage-secret/password': 'p1',
  'publish-secret/password': 'p2',
};

async function open(t: TestContext, plugin: Plugin = {}) {
  const bench = openRealBench(t);
  const calls: Call[] = [];
  const answer =
    (rpc: string, work: (path: string) => unknown = () => {}) =>
    async (request: { readonly target_path?: string }) => {
      calls.push({ rpc, request });
      if (plugin.refuses) throw plugin.refuses;
      work(request.target_path ?? '');
      return {};
    };
  const node = {
    NodeGetInfo: async () => ({ node_id: plugin.nodeId ?? 'vm-7' }),
    NodeGetCapabilities: async () => ({ capabilities: [{ rpc: { type: 'STAGE_UNSTAGE_VOLUME' } }] }),
    NodeStageVolume: answer('stage'),
    NodeUnstageVolume: answer('unstage'),
    NodePublishVolume: answer('publish', path => {
      if (plugin.mountsNothing) return;
      mkdirSync(path);
      execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', path]);
    }),
    NodeUnpublishVolume: answer('unpublish', path => {
      if (!plugin.leavesMounts) execFileSync('umount', [path]);
    }),
  };
  const { socketPath } = await serveCsi(t, { node });
  const agent = await startAgent(bench);
  const trust = { ...agent.trust, drivers: new Map([['old.example', socketPath]]) };
  const state = `${bench.directory}/state`;
  const reopen = () => openDriverVolumes({ ...agent, trust }, state);
  const stagingPath = `${bench.directory}/stage/v`;
  mkdirSync(stagingPath);
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const staged = { volumeId: 'a.v', stagingPath, attachment, capability };
  const targetPath = join(bench.directory, 'pods/v');
  return { bench, calls, reopen, staged, published: { ...staged, targetPath, readonly: false } };
}

test(
  "a volume of another driver is used by the driver's own id, contexts and secrets, also after a restart",
  real(),
  async t => {
    const { bench, calls, reopen, staged, published } = await open(t);
    const volumes = await reopen();
    await volumes.stage(staged, secrets, call);
    await volumes.publish(published, secrets, call);
    const again = await reopen();
    assert.ok(again.has('a.v'));
    await assert.rejects(again.unstage(staged, call), {
      code: 'FAILED_PRECONDITION',
      message: /still published at/,
    });
    await again.unpublish('a.v', published.targetPath, call);
    await again.unstage(staged, call);
    assert.ok(!again.has('a.v'));
    assert.deepEqual(
      calls.map(({ rpc }) => rpc),
      ['stage', 'publish', 'unpublish', 'unstage'],
    );
    assert.partialDeepStrictEqual(calls[0]?.request, {
      volume_id: 'vol-1',
      publish_context: { device: 'vdb' },
      volume_context: { share: 'one' },
      secrets: { password: 'p1' },
    });
    assert.partialDeepStrictEqual(calls[1]?.request, { volume_id: 'vol-1', secrets: { password: 'p2' } });
    assert.ok(!existsSync(published.targetPath));
    assert.deepEqual(mountsBelow(bench.directory), []);
  },
);

test(
  'a plugin that calls the node otherwise than the volume was published for is not asked to stage it',
  real(),
  async t => {
    const { calls, reopen, staged } = await open(t, { nodeId: 'vm-8' });
    const volumes = await reopen();
    await assert.rejects(volumes.stage(staged, secrets, call), {
      code: 'FAILED_PRECONDITION',
      message: /calls this node "vm-8", and the volume was published for "vm-7": set the bridge's --node-id/,
    });
    assert.deepEqual([calls, volumes.has('a.v')], [[], false]);
  },
);

test(
  'a plugin that publishes without a mount is an error, since a pod would write to the disk of the node',
  real(),
  async t => {
    const plugin: Plugin = { mountsNothing: true };
    const { reopen, staged, published } = await open(t, plugin);
    const volumes = await reopen();
    await volumes.stage(staged, secrets, call);
    await assert.rejects(volumes.publish(published, secrets, call), {
      code: 'UNAVAILABLE',
      message: /answered, but nothing is mounted at/,
    });
    delete plugin.mountsNothing;
    await volumes.publish(published, secrets, call);
    await volumes.unpublish('a.v', published.targetPath, call);
  },
);

test('a mount that a plugin leaves behind is unmounted', real(), async t => {
  const { bench, reopen, staged, published } = await open(t, { leavesMounts: true });
  const volumes = await reopen();
  await volumes.stage(staged, secrets, call);
  await volumes.publish(published, secrets, call);
  await volumes.unpublish('a.v', published.targetPath, call);
  assert.deepEqual(mountsBelow(bench.directory), []);
  assert.ok(!existsSync(published.targetPath));
});

test('a refused stage leaves no record, and one without an answer keeps it', real(), async t => {
  const plugin: Plugin = { refuses: new Problem('INVALID_ARGUMENT', 'no such share') };
  const { reopen, staged } = await open(t, plugin);
  const volumes = await reopen();
  await assert.rejects(volumes.stage(staged, secrets, call), {
    code: 'INVALID_ARGUMENT',
    message: /^driver "old\.example": no such share/,
  });
  assert.ok(!volumes.has('a.v'));
  plugin.refuses = new Problem('UNAVAILABLE', 'busy');
  await assert.rejects(volumes.stage(staged, secrets, call), { code: 'UNAVAILABLE' });
  assert.ok(volumes.has('a.v'));
  delete plugin.refuses;
  await volumes.unstage(staged, call);
});

test('a driver that the node does not accept is refused', real(), async t => {
  const { reopen, staged } = await open(t);
  const other = { ...staged, attachment: { ...staged.attachment, driver: 'other.example' } };
  await assert.rejects((await reopen()).stage(other, secrets, call), {
    code: 'FAILED_PRECONDITION',
    message: /"other\.example" is not among the --csi-drivers/,
  });
});
