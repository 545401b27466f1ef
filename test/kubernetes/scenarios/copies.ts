import assert from 'node:assert/strict';
import type { EastInstallation } from '../installation/installation.ts';
import { claim, fromClaim, fromSnapshot, pod, snapshot } from './manifests.ts';
import { inWorkspace, type Scenarios, type Workspace } from './workspace.ts';

/** Scenarios of snapshots, clones, expansion and modification. */
export const copyScenarios: Scenarios<EastInstallation> = {
  'a snapshot of a volume in use becomes a larger volume with the data from before the snapshot': ({
    east,
  }) =>
    inWorkspace(east.cluster, 'snapshot', async at => {
      await at.apply(claim('data'), pod('app', { claim: 'data', script: 'echo old > /data/file; sync' }));
      await at.untilReady('app');
      await at.apply(snapshot('yesterday', 'data'));
      await at.untilReads('volumesnapshot/yesterday', '{.status.readyToUse}', /^true$/);
      await at.exec('app', 'sh', '-c', 'echo new > /data/file; sync');
      const dataSource = fromSnapshot('yesterday');
      await at.apply(
        claim('restored', { size: '128Mi', dataSource }),
        pod('restored', { claim: 'restored' }),
      );
      await at.untilReady('restored');
      assert.equal(await at.exec('restored', 'cat', '/data/file'), 'old');
      assert.ok((await mebibytesOf(at, 'restored')) > 100);
    }),

  'a clone has the bytes of its source and is written beside it': ({ east }) =>
    inWorkspace(east.cluster, 'clone', async at => {
      await at.apply(claim('data'), pod('source', { claim: 'data', script: 'echo one > /data/file; sync' }));
      await at.untilReady('source');
      await at.apply(
        claim('copy', { dataSource: fromClaim('data') }),
        pod('clone', { claim: 'copy', script: 'cp /data/file /data/before; echo two > /data/file' }),
      );
      await at.untilReady('clone');
      assert.equal(await at.exec('clone', 'cat', '/data/before'), 'one');
      assert.equal(await at.exec('source', 'cat', '/data/file'), 'one');
    }),

  'an xfs volume grows under its running pod': ({ east }) =>
    inWorkspace(east.cluster, 'online', async at => {
      await at.apply(claim('data', { class: 'xfs', size: '320Mi' }), pod('app', { claim: 'data' }));
      await at.untilReady('app');
      await at.kubectl('patch', 'pvc', 'data', '--patch', sizePatch('640Mi'));
      await at.untilReads('pvc/data', '{.status.capacity.storage}', /^640Mi$/);
      assert.ok((await mebibytesOf(at, 'app')) > 500);
    }),

  'an ext4 volume that no pod uses has grown when the next one does': ({ east }) =>
    inWorkspace(east.cluster, 'offline', async at => {
      await at.apply(claim('data'));
      await at.untilReads('pvc/data', '{.status.phase}', /^Bound$/);
      await at.kubectl('patch', 'pvc', 'data', '--patch', sizePatch('256Mi'));
      await at.untilReads('pvc/data', '{.status.conditions[*].type}', /FileSystemResizePending/);
      await at.apply(pod('app', { claim: 'data' }));
      await at.untilReady('app');
      await at.untilReads('pvc/data', '{.status.capacity.storage}', /^256Mi$/);
      assert.ok((await mebibytesOf(at, 'app')) > 200);
    }),

  'a VolumeAttributesClass holds for a new volume and for one that is changed to it': ({ east }) =>
    inWorkspace(east.cluster, 'attributes', async at => {
      await at.apply(claim('new', { attributes: 'reserved' }), claim('old'));
      await at.untilReads('pvc/new', '{.status.currentVolumeAttributesClassName}', /^reserved$/);
      await at.untilReads('pvc/old', '{.status.phase}', /^Bound$/);
      const patch = JSON.stringify({ spec: { volumeAttributesClassName: 'reserved' } });
      await at.kubectl('patch', 'pvc', 'old', '--patch', patch);
      await at.untilReads('pvc/old', '{.status.currentVolumeAttributesClassName}', /^reserved$/);
    }),
};

const sizePatch = (storage: string) => JSON.stringify({ spec: { resources: { requests: { storage } } } });

/** Returns the size of the filesystem at /data, in mebibytes. */
async function mebibytesOf({ exec }: Pick<Workspace, 'exec'>, name: string): Promise<number> {
  const script = 'df -P -m /data | tail -n 1 | tr -s " " | cut -d " " -f 2';
  return Number(await exec(name, 'sh', '-c', script));
}
