import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmdirSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { toPublishContext } from '../../../src/api/attachment.ts';
import type { CsiClient } from '../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { assertNothingLeft, openNode, type TestNode } from '../../harness/agent.ts';
import { loopDevicesOf, mountsBelow, noRoot } from '../../harness/machine.ts';
import type { VolumeSpec } from '../../fakes/kubelet/paths.ts';
import { findMissing } from '../../harness/node-agent-bench.ts';
import { sample } from '../../harness/sample.ts';
import { createMortalAgent, untilDone } from './mortal-agent.ts';

const MiB = 2 ** 20;
/** More than any call has; a call that never comes to its end is a failure. */
const mostSteps = 60;

/** One volume on its way through the calls of a node. */
type Life = {
  readonly node: TestNode;
  readonly volume: VolumeSpec;
  readonly kind: Kind;
  readonly content: Buffer;
};
type Kind = {
  readonly name: string;
  /** A filesystem's type, a block volume, or a directory that is bound. */
  readonly what: 'ext4' | 'xfs' | 'btrfs' | 'block' | 'directory';
  readonly sizeBytes: number;
};
type Call = (client: CsiClient, life: Life) => Promise<unknown>;

/** A call that is killed at each of its steps: what comes before it, and after. */
type Killed = {
  readonly name: string;
  readonly before: readonly Call[];
  readonly call: Call;
  /** How the volume is found after the call, however often it had to be repeated. */
  readonly found: (life: Life) => void;
  readonly after: readonly Call[];
};

const kinds: readonly Kind[] = [
  { name: 'an ext4 volume', what: 'ext4', sizeBytes: 32 * MiB },
  { name: 'an xfs volume', what: 'xfs', sizeBytes: 300 * MiB },
  { name: 'a btrfs volume', what: 'btrfs', sizeBytes: 256 * MiB },
  { name: 'a block volume', what: 'block', sizeBytes: 32 * MiB },
  { name: 'a directory', what: 'directory', sizeBytes: MiB },
];

const killed: readonly Killed[] = [
  { name: 'NodeStageVolume', before: [], call: stage, found: isStaged, after: [publish, write, check] },
  {
    name: 'NodeStageVolume of a volume with data',
    before: [stage, publish, write, unpublish, unstage],
    call: stage,
    found: isStaged,
    after: [publish, check],
  },
  { name: 'NodePublishVolume', before: [stage], call: publish, found: isPublished, after: [write, check] },
  {
    name: 'NodeUnpublishVolume',
    before: [stage, publish, write],
    call: unpublish,
    found: isStaged,
    after: [publish, check],
  },
  {
    name: 'NodeUnstageVolume',
    before: [stage, publish, write, unpublish],
    call: unstage,
    found: ({ node }) => assertNothingLeft(node),
    after: [stage, publish, check],
  },
  {
    name: 'NodeExpandVolume',
    before: [stage, publish, write],
    call: expand,
    found: isPublished,
    after: [check],
  },
];

// An ext4 grows online only with CAP_SYS_RESOURCE, which not every machine gives; a directory has no size.
const cases = kinds.flatMap(kind =>
  killed
    .filter(({ call }) => call !== expand || !['ext4', 'directory'].includes(kind.what))
    .map(one => ({ kind, one })),
);

for (const { kind, one } of sample('killed at any step', cases, 3)) {
  const needed = ['xfs', 'btrfs'].includes(kind.what) ? findMissing([`mkfs.${kind.what}`]) : undefined;
  const skip = noRoot || needed || false;
  test(`killed at any step of ${one.name}, ${kind.name} loses nothing`, { skip }, async t => {
    const node = openNode(t);
    const agent = createMortalAgent(node);
    t.after(() => agent.kill());
    let step = 0;
    for (let isDone = false; !isDone; step++) {
      assert.ok(step < mostSteps, 'the call never ends');
      const volume = makeVolume(node, `v${step}`, kind);
      const life = { node, volume, kind, content: randomBytes(64 * 1024) };
      const run = (call: Call) => untilDone(agent, client => call(client, life));
      for (const call of one.before) await run(call);
      isDone = await agent.tryKilledAt(step, client => one.call(client, life));
      await run(one.call);
      one.found(life);
      for (const call of [...one.after, unpublish, unstage]) await run(call);
      assertNothingLeft(node);
    }
    assert.ok(step > 1, `it was killed only ${step - 1} times`);
    t.diagnostic(`killed at ${step - 1} steps`);
  });
}

function makeVolume(node: TestNode, name: string, { what, sizeBytes }: Kind): VolumeSpec {
  const volume = node.makeVolume(name, { sizeBytes, mode: what === 'block' ? 'Block' : 'Filesystem' });
  if (what !== 'directory') return volume;
  const path = join(node.dir, 'directories', name);
  mkdirSync(path, { recursive: true });
  const common = { attachmentId: name, sizeBytes, readonly: false, mayFormat: false };
  return { ...volume, publishContext: toPublishContext({ protocol: 'bind', path, ...common }) };
}

function capabilityOf({ kind: { what } }: Life): VolumeCapability {
  const access_mode = { mode: 'SINGLE_NODE_MULTI_WRITER' } as const;
  if (what === 'block') return { block: {}, access_mode };
  return { mount: { fs_type: what === 'directory' ? '' : what }, access_mode };
}

function pathsOf({ node, volume }: Life): { readonly staging: string; readonly target: string } {
  const parent = join(node.root, 'pods', volume.name);
  mkdirSync(join(parent, 'stage'), { recursive: true });
  return { staging: join(parent, 'stage', 'globalmount'), target: join(parent, 'mount') };
}

function stage(client: CsiClient, life: Life): Promise<unknown> {
  return client.node.NodeStageVolume({
    volume_id: life.volume.handle,
    staging_target_path: pathsOf(life).staging,
    volume_capability: capabilityOf(life),
    publish_context: life.volume.publishContext,
  });
}

function publish(client: CsiClient, life: Life): Promise<unknown> {
  const { staging, target } = pathsOf(life);
  return client.node.NodePublishVolume({
    volume_id: life.volume.handle,
    staging_target_path: staging,
    target_path: target,
    volume_capability: capabilityOf(life),
    publish_context: life.volume.publishContext,
  });
}

function unpublish(client: CsiClient, life: Life): Promise<unknown> {
  const request = { volume_id: life.volume.handle, target_path: pathsOf(life).target };
  return client.node.NodeUnpublishVolume(request);
}

/** Kubelet removes the directory after the call, and could not if anything were still mounted there. */
async function unstage(client: CsiClient, life: Life): Promise<void> {
  const { staging } = pathsOf(life);
  await client.node.NodeUnstageVolume({ volume_id: life.volume.handle, staging_target_path: staging });
  if (existsSync(staging)) rmdirSync(staging);
}

async function expand(client: CsiClient, life: Life): Promise<unknown> {
  const { volume, kind } = life;
  const { path = '' } = volume.publishContext;
  const sizeBytes = 2 * kind.sizeBytes;
  truncateSync(path, sizeBytes);
  const { target, staging } = pathsOf(life);
  const answer = await client.node.NodeExpandVolume({
    volume_id: volume.handle,
    volume_path: target,
    staging_target_path: staging,
    volume_capability: capabilityOf(life),
    capacity_range: { required_bytes: String(sizeBytes) },
  });
  assert.ok(Number(answer.capacity_bytes) >= sizeBytes);
  return answer;
}

/** Writes through the published path, durable on return, as a database would. */
async function write(_client: CsiClient, life: Life): Promise<void> {
  const { target } = pathsOf(life);
  const isBlock = life.kind.what === 'block';
  const file = openSync(isBlock ? target : join(target, 'data'), isBlock ? 'r+' : 'w');
  writeSync(file, life.content);
  fsyncSync(file);
  closeSync(file);
}

async function check(_client: CsiClient, life: Life): Promise<void> {
  const { target } = pathsOf(life);
  const found =
    life.kind.what === 'block' ? readStart(target, life.content.length) : readFileSync(join(target, 'data'));
  assert.equal(hash(found), hash(life.content));
}

function readStart(path: string, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const file = openSync(path, 'r');
  readSync(file, bytes, 0, length, 0);
  closeSync(file);
  return bytes;
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function isStaged(life: Life): void {
  const { staging, target } = pathsOf(life);
  const isBlock = life.kind.what === 'block';
  assert.deepEqual(mountsBelow(life.node.dir), isBlock ? [] : [staging]);
  assert.equal(mountsBelow(target).length, 0);
  assert.equal(loopDevicesOf(life.node.dir).length, life.kind.what === 'directory' ? 0 : 1);
}

function isPublished(life: Life): void {
  const { staging, target } = pathsOf(life);
  const isBlock = life.kind.what === 'block';
  assert.deepEqual([...mountsBelow(life.node.dir)].sort(), isBlock ? [target] : [target, staging].sort());
  assert.equal(loopDevicesOf(life.node.dir).length, life.kind.what === 'directory' ? 0 : 1);
}
