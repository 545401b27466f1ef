import assert from 'node:assert/strict';
import { claim, pod, snapshot } from './manifests.ts';
import { inWorkspace, type Scenarios } from './workspace.ts';

/** Scenarios of impossible claims, of capacity, and of the place where volumes are used. */
export const placementScenarios: Scenarios = {
  'a claim that cannot be had says why in its events': ({ east }) =>
    inWorkspace(east.cluster, 'refusals', async at => {
      await at.apply(
        claim('many', { mode: 'ReadWriteMany' }),
        claim('vast', { size: '900Ti' }),
        claim('raw', { class: 'files', isBlock: true }),
        claim('files', { class: 'files' }),
      );
      await at.untilEvent('pvc/many', /MULTI_NODE_MULTI_WRITER/);
      await at.untilEvent('pvc/vast', /ResourceExhausted|OutOfRange/);
      await at.untilEvent('pvc/raw', /block/);
      await at.untilReads('pvc/files', '{.status.phase}', /^Bound$/);
      await at.apply(snapshot('none', 'files'));
      await at.untilReads('volumesnapshot/none', '{.status.error.message}', /snapshot/);
    }),

  'the scheduler knows the free space for a class with a filesystem': ({ east }) =>
    inWorkspace(east.cluster, 'capacity', async at => {
      await at.apply(
        claim('large', { class: 'xfs', size: '900Ti' }),
        pod('large', { claim: 'large' }),
        claim('small', { class: 'xfs', size: '320Mi' }),
        pod('small', { claim: 'small' }),
      );
      await at.untilEvent('pod/large', /not have enough free storage/);
      await at.untilReady('small');
    }),

  'a pod that moves to the other node takes its volume along': ({ east }) =>
    inWorkspace(east.cluster, 'move', async at => {
      const data = { claim: 'data' };
      await at.apply(claim('data'), pod('first', { ...data, node: 'east-1', script: 'echo 1 > /data/file' }));
      await at.untilReady('first');
      await at.apply(pod('second', { ...data, node: 'east-2' }));
      await at.untilEvent('pod/second', /Multi-Attach error.*first/);
      await at.remove('pod/first');
      await at.untilReady('second');
      assert.equal(await at.exec('second', 'cat', '/data/file'), '1');
    }),

  'two clusters have volumes of one gateway, each its own': ({ east, west, gateway }) =>
    inWorkspace(east.cluster, 'shared-gateway', here =>
      inWorkspace(west.cluster, 'shared-gateway', async there => {
        for (const at of [here, there])
          await at.apply(claim('data'), pod('app', { claim: 'data', script: 'echo 1 > /data/file' }));
        await Promise.all([here, there].map(at => at.untilReady('app')));
        for (const [at, cluster] of [
          [here, 'east'],
          [there, 'west'],
        ] as const) {
          const name = await at.untilReads('pvc/data', '{.spec.volumeName}', /./);
          assert.equal(gateway.count('volumes', 'id = ?', `${cluster}.${name}`), 1);
        }
      }),
    ),

  'a node that starts is kept free of pods until its agent is registered': ({ west }) =>
    inWorkspace(west.cluster, 'taint', async at => {
      await at.kubectl('taint', 'node', 'west-1', 'csi.fairlead.dev/agent-not-ready=:NoSchedule');
      await at.untilReads('node/west-1', '{.spec.taints}', /^$/);
    }),
};
