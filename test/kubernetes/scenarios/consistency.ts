import assert from 'node:assert/strict';
import { waitFor } from '../cluster/wait.ts';
import type { Gateway } from '../installation/gateway.ts';
import { claim, pod } from './manifests.ts';
import { inWorkspace, type Scenarios, type Workspace } from './workspace.ts';

/** Scenarios of manual changes at one place only. */
export const consistencyScenarios: Scenarios = {
  'a VolumeAttachment that somebody deleted comes back while its pod writes on, and the volume goes in the end':
    ({ east, gateway }) =>
      inWorkspace(east.cluster, 'deleted-attachment', async at => {
        const volume = await startWriter(at);
        const named = `{.items[?(@.spec.source.persistentVolumeName=="${volume}")].metadata`;
        const name = await at.untilReads('volumeattachments', `${named}.name}`, /./);
        const object = `volumeattachment/${name}`;
        const before = await at.untilReads(object, '{.metadata.uid}', /./);
        const released = JSON.stringify({ metadata: { finalizers: null } });
        await at.kubectl('patch', object, '--type=merge', '--patch', released);
        await at.kubectl('delete', object);
        await at.untilReads(object, '{.metadata.uid}', new RegExp(`^(?!${before}).`));
        await at.untilReads(object, '{.status.attached}', /^true$/);
        await requireWriting(at);
        await removeAll(at, gateway, volume);
      }),

  'a volume that somebody detached at the gateway is attached again while its pod writes on': ({
    east,
    gateway,
  }) =>
    inWorkspace(east.cluster, 'detached', async at => {
      // The gateway runs on the node's own machine: it would see that an image is still in use there, and refuse.
      const volume = await startWriter(at, 'files');
      await gateway.detach(`east.${volume}`);
      const isAttached = () => gateway.count('attachments', 'volume_id = ?', `east.${volume}`) === 1;
      await waitFor('the volume to be attached again', () => isAttached() || undefined);
      await requireWriting(at);
      await removeAll(at, gateway, volume);
    }),
};

/** Starts a pod that writes continuously to a volume, by default of the class `ext4`, and returns the name of its volume. */
export async function startWriter(at: Workspace, ofClass = 'ext4'): Promise<string> {
  const script =
    'while date >> /data/log && sync; do touch /tmp/wrote; sleep 0.2; done & until test -e /tmp/wrote; do sleep 0.1; done';
  await at.apply(claim('data', { class: ofClass }), pod('app', { claim: 'data', script }));
  await at.untilReady('app');
  return at.untilReads('pvc/data', '{.spec.volumeName}', /./);
}

/** Fails unless the pod of `startWriter` writes after this call. */
export async function requireWriting(at: Workspace): Promise<void> {
  await at.exec('app', 'sh', '-c', 'rm -f /tmp/wrote; until test -e /tmp/wrote; do sleep 0.1; done');
  const restarts = '{.status.containerStatuses[0].restartCount}';
  assert.equal(await at.untilReads('pod/app', restarts, /./), '0');
}

/** Removes the pod and its claim; resolves once the volume is gone from the gateway. */
async function removeAll(at: Workspace, gateway: Gateway, volume: string): Promise<void> {
  await at.remove('pod/app', 'pvc/data');
  const isGone = () => gateway.count('volumes', 'id = ?', `east.${volume}`) === 0;
  await waitFor('the volume to be gone', () => isGone() || undefined);
}
