import assert from 'node:assert/strict';
import { test } from 'node:test';
import { poll } from '../../../../src/lib/concurrency.ts';
import {
  assertNothingLeft,
  driverName,
  homes,
  prepareNode,
  type TestNode,
} from '../../../harness/node/program.ts';
import {
  detachLoopDevices,
  loopDevicesOf,
  mountsBelow,
  noRoot,
  removeMounts,
} from '../../../harness/machine.ts';

for (const home of homes)
  test(
    `an agent works as usual after its volumes were removed while it was down (${home})`,
    { skip: noRoot },
    async t => {
      const node = prepareNode(t, home);
      const settings = { 'metrics-listen': '127.0.0.1:0' };
      const first = node.startAgent(settings);
      const kubelet = node.startKubelet();
      await kubelet.plugins.registered(driverName);
      const kept = { uid: 'kept', volumes: [node.makeVolume('a'), node.makeVolume('b', { mode: 'Block' })] };
      const lost = { uid: 'lost', volumes: [node.makeVolume('c'), node.makeVolume('d', { mode: 'Block' })] };
      await Promise.all([kubelet.runPod(kept), kubelet.runPod(lost)]);
      kubelet.stop();
      await first.end('SIGKILL');
      await takeAway(node);

      const idle = node.startAgent({ ...settings, 'shutdown-grace': '600s' });
      const text = await (await fetch(`http://${(await idle.ready)['metrics']}/metrics`)).text();
      assert.match(text, /^fairlead_node_records 0$/m);
      assert.doesNotMatch(text, /^fairlead_node_volume_healthy\{/m);
      await idle.untilLogged(/"count":4,"msg":"recorded volumes are no longer on this node/);
      await idle.end('SIGTERM');

      node.startAgent(settings);
      const after = node.startKubelet();
      await after.plugins.registered(driverName);
      await after.reconstruct([kept]);
      assert.deepEqual(after.failures, []);
      await after.drain();
      assertNothingLeft(node);
    },
  );

/**
 * Acts as a reboot: mounts and devices go, directories stay. A device that another process has open, such as udev or
 * another test's losetup, detaches with that.
 */
async function takeAway({ dir }: TestNode): Promise<void> {
  removeMounts(mountsBelow(dir));
  const isAway = await poll(
    () => {
      detachLoopDevices(dir);
      return loopDevicesOf(dir).length === 0 || undefined;
    },
    { everyMs: 20, timeoutMs: 60_000 },
  );
  assert.ok(isAway);
}
