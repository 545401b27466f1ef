import assert from 'node:assert/strict';
import { mkdirSync, rmdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { toPublishContext } from '../../../src/api/attachment.ts';
import type { CsiClient } from '../../../src/csi/client.ts';
import { assertNothingLeft, openNode, type TestNode } from '../../harness/agent.ts';
import { noRoot } from '../../harness/machine.ts';
import { startWriting } from '../../fakes/kubelet/pod-process.ts';
import { findMissing } from '../../harness/node-agent-bench.ts';
import { createMortalAgent, untilDone } from './mortal-agent.ts';

const MiB = 2 ** 20;
const sizeBytes = 300 * MiB;
/** More than any call has; a call that never comes to its end is a failure. */
const mostSteps = 60;

type Call = (client: CsiClient) => Promise<unknown>;
type Calls = Readonly<
  Record<'stage' | 'publish' | 'publishSecond' | 'unpublishSecond' | 'expand' | 'unpublish' | 'unstage', Call>
> & { readonly file: string };

for (const what of ['xfs', 'directory'] as const)
  test(
    `a pod writes to a volume, ${what}, while the agent is killed at any step of other calls`,
    { skip: noRoot || (what === 'xfs' && findMissing(['mkfs.xfs'])) || false },
    async t => {
      const node = openNode(t);
      const agent = createMortalAgent(node);
      t.after(() => agent.kill());
      const calls = callsFor(node, what);
      const begin = (call: Call): Promise<void> => untilDone(agent, call);
      await begin(calls.stage);
      await begin(calls.publish);
      writeFileSync(calls.file, '');
      const pod = await startWriting(calls.file);
      t.after(() => pod.kill());

      const rows: readonly (readonly [killed: Call, undo?: Call])[] = [
        [calls.stage],
        [calls.publish],
        [calls.publishSecond, calls.unpublishSecond],
        [calls.unpublishSecond, calls.publishSecond],
        ...(what === 'xfs' ? [[calls.expand] as const] : []),
      ];
      let kills = 0;
      for (const [killed, undo] of rows) {
        if (killed === calls.unpublishSecond) await begin(calls.publishSecond);
        for (let step = 0; !(await agent.tryKilledAt(step, killed)); step++) {
          assert.ok(step < mostSteps, 'the call never ends');
          kills++;
          await untilDone(agent, killed);
          if (undo) await begin(undo);
        }
        await begin(calls.unpublishSecond);
      }
      assert.ok(kills > 4, `it was killed only ${kills} times`);
      assert.ok((await pod.finish()) > 0);
      await begin(calls.unpublish);
      await begin(calls.unstage);
      assertNothingLeft(node);
      t.diagnostic(`killed at ${kills} steps`);
    },
  );

function callsFor(node: TestNode, what: 'xfs' | 'directory'): Calls {
  const volume = node.makeVolume('v', { sizeBytes });
  const parent = join(node.root, 'pods', 'v');
  const shared = join(node.dir, 'directories', 'v');
  for (const path of [parent, shared]) mkdirSync(path, { recursive: true });
  const common = { attachmentId: 'a', sizeBytes, readonly: false, mayFormat: false };
  const toDirectory = () => toPublishContext({ protocol: 'bind', path: shared, ...common });
  const [staging, target] = [join(parent, 'globalmount'), join(parent, 'mount')];
  const request = {
    volume_id: volume.handle,
    staging_target_path: staging,
    target_path: target,
    volume_path: target,
    volume_capability: {
      mount: { fs_type: what === 'directory' ? '' : what },
      access_mode: { mode: 'SINGLE_NODE_MULTI_WRITER' as const },
    },
    publish_context: what === 'directory' ? toDirectory() : volume.publishContext,
  };
  const second = { ...request, target_path: join(parent, 'second') };
  return {
    file: join(target, 'data'),
    stage: client => client.node.NodeStageVolume(request),
    publish: client => client.node.NodePublishVolume(request),
    publishSecond: client => client.node.NodePublishVolume(second),
    unpublishSecond: client => client.node.NodeUnpublishVolume(second),
    expand(client) {
      truncateSync(volume.publishContext['path'] ?? '', 2 * sizeBytes);
      const capacity_range = { required_bytes: String(2 * sizeBytes) };
      return client.node.NodeExpandVolume({ ...request, capacity_range });
    },
    unpublish: client => client.node.NodeUnpublishVolume(request),
    /** Kubelet removes the directory itself. */
    async unstage(client) {
      await client.node.NodeUnstageVolume(request);
      rmdirSync(staging);
    },
  };
}
