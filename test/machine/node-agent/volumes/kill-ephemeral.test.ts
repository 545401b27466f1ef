import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CsiClient } from '../../../../src/csi/client.ts';
import { assertNothingLeft, openNode, type TestNode } from '../../../harness/agent.ts';
import { noRoot } from '../../../harness/machine.ts';
import { createMortalAgent, untilDone, type MortalAgent } from '../mortal-agent.ts';

/** More than any call has; a call that never comes to its end is a failure. */
const mostSteps = 60;

type Calls = Readonly<Record<'publish' | 'unpublish', (client: CsiClient) => Promise<unknown>>>;

type Case = {
  readonly name: string;
  readonly before?: 'publish';
  readonly call: 'publish' | 'unpublish';
  /** What brings the volume to where the agent's death kept it from. */
  readonly heal: 'publish' | 'unpublish';
};

const cases: readonly Case[] = [
  {
    name: 'killed at any step of its publish, an inline volume is mounted by the next',
    call: 'publish',
    heal: 'publish',
  },
  {
    name: 'killed at any step of its publish, an inline volume is gone after the unpublish',
    call: 'publish',
    heal: 'unpublish',
  },
  {
    name: 'killed at any step of its unpublish, an inline volume is gone after the next',
    before: 'publish',
    call: 'unpublish',
    heal: 'unpublish',
  },
];

for (const { name, before, call, heal } of cases) {
  test(name, { skip: noRoot }, async t => {
    const node = openNode(t);
    const images = join(node.dir, 'ephemeral');
    mkdirSync(images);
    const agent = createMortalAgent(node, { 'ephemeral-dir': images });
    t.after(() => agent.kill());
    let step = 0;
    for (let isDone = false; !isDone; step++) {
      assert.ok(step < mostSteps, 'the call never ends');
      const target = join(node.root, 'pods', `v${step}`);
      const calls = callsFor(step, target);
      if (before) await untilDone(agent, calls[before]);
      isDone = await agent.tryKilledAt(step, calls[call]);
      await untilDone(agent, calls[heal]);
      if (heal === 'publish') await useAndLeave({ agent, calls, target });
      assertGone(node, images);
    }
    assert.ok(step > 1, `it was killed only ${step - 1} times`);
    t.diagnostic(`killed at ${step - 1} steps`);
  });
}

type Published = { readonly agent: MortalAgent; readonly calls: Calls; readonly target: string };

async function useAndLeave({ agent, calls, target }: Published): Promise<void> {
  writeFileSync(join(target, 'file'), 'data');
  await untilDone(agent, calls.publish);
  assert.equal(readFileSync(join(target, 'file'), 'utf8'), 'data');
  await untilDone(agent, calls.unpublish);
}

function assertGone(node: TestNode, images: string): void {
  assertNothingLeft(node);
  assert.deepEqual(readdirSync(images), []);
  assert.deepEqual(readdirSync(join(node.root, 'pods')), []);
}

function callsFor(step: number, target_path: string): Calls {
  const volume_id = `csi-${step}`;
  const request = {
    volume_id,
    target_path,
    volume_context: { 'csi.storage.k8s.io/ephemeral': 'true', size: '16Mi' },
    volume_capability: { mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_WRITER' } },
  } as const;
  return {
    publish: client => client.node.NodePublishVolume(request),
    unpublish: client => client.node.NodeUnpublishVolume({ volume_id, target_path }),
  };
}
