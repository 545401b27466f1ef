import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertNothingLeft, homes, prepareNode } from '../../harness/node/program.ts';
import { noRoot } from '../../harness/machine.ts';
import { findMissing } from '../../harness/node.ts';
import { sample } from '../../harness/sample.ts';
import {
  check,
  expand,
  isPublished,
  isStaged,
  openLife,
  publish,
  publishSecond,
  sizes,
  stage,
  startPod,
  unpublish,
  unpublishSecond,
  unstage,
  write,
  type Call,
  type Life,
  type VolumeKind,
} from './life.ts';
import { createMortalAgent, untilDone } from './mortal-agent.ts';

/** More steps than any call has; a call that does not end fails. */
const maxSteps = 60;

/** A call that is killed at each of its steps, with the work before and after it. */
type KilledCall = {
  readonly name: string;
  readonly before: readonly Call[];
  readonly call: Call;
  /** Examines the volume after the call, however often it was repeated. */
  readonly found?: (life: Life) => void;
  readonly after: readonly Call[];
  /** True if a pod writes to the volume during the call. */
  readonly isWritten?: boolean;
};

const used = [stage, publish, write];

const killed: readonly KilledCall[] = [
  { name: 'NodeStageVolume', before: [], call: stage, found: isStaged, after: [publish, write, check] },
  {
    name: 'NodeStageVolume of a volume with data',
    before: [...used, unpublish, unstage],
    call: stage,
    found: isStaged,
    after: [publish, check],
  },
  { name: 'NodePublishVolume', before: [stage], call: publish, found: isPublished, after: [write, check] },
  { name: 'NodeUnpublishVolume', before: used, call: unpublish, found: isStaged, after: [publish, check] },
  {
    name: 'NodeUnstageVolume',
    before: [...used, unpublish],
    call: unstage,
    found: ({ node }) => assertNothingLeft(node),
    after: [stage, publish, check],
  },
  {
    name: 'a second NodePublishVolume',
    before: used,
    call: publishSecond,
    after: [check, unpublishSecond],
    isWritten: true,
  },
  {
    name: 'a second NodeUnpublishVolume',
    before: [...used, publishSecond],
    call: unpublishSecond,
    found: isPublished,
    after: [check],
    isWritten: true,
  },
  {
    name: 'NodeExpandVolume',
    before: used,
    call: expand,
    found: isPublished,
    after: [check],
    isWritten: true,
  },
];

// An ext4 grows online only with CAP_SYS_RESOURCE, which not every machine gives; a directory has no size.
const cases = (Object.keys(sizes) as VolumeKind[]).flatMap(what =>
  killed
    .filter(({ call }) => call !== expand || !['ext4', 'directory'].includes(what))
    .flatMap(one => homes.map(home => ({ what, one, home }))),
);

for (const { what, one, home } of sample('killed at any step', cases, 4)) {
  const needed = ['xfs', 'btrfs'].includes(what) ? [`mkfs.${what}`] : [];
  const skip = noRoot || findMissing(needed) || false;
  test(`a kill at any step of ${one.name}, ${what}, in the ${home}, loses nothing`, { skip }, async t => {
    const node = prepareNode(t, home);
    const agent = createMortalAgent(node);
    t.after(() => agent.kill());
    let step = 0;
    for (let isDone = false; !isDone; step++) {
      assert.ok(step < maxSteps, 'the call never ends');
      const life = openLife(node, `v${step}`, what);
      const run = (call: Call) => untilDone(agent, client => call(client, life));
      for (const call of one.before) await run(call);
      const pod = one.isWritten ? await startPod(life) : undefined;
      t.after(() => pod?.kill());
      isDone = await agent.tryKilledAt(step, client => one.call(client, life));
      await run(one.call);
      one.found?.(life);
      for (const call of one.after) await run(call);
      if (pod) assert.ok((await pod.finish()) > 0);
      for (const call of [unpublish, unstage]) await run(call);
      assertNothingLeft(node);
    }
    assert.ok(step > 1, `it was killed only ${step - 1} times`);
    t.diagnostic(`killed at ${step - 1} steps`);
  });
}
