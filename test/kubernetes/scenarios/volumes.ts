import assert from 'node:assert/strict';
import type { EastInstallation } from '../installation/installation.ts';
import { claim, claimSpec, pod } from './manifests.ts';
import { inWorkspace, type Scenarios } from './workspace.ts';

const write = 'echo bytes > /data/file; sync';

/** Scenarios of the kinds of a volume and its access modes, apart from shared directories. */
export const volumeScenarios: Scenarios<EastInstallation> = {
  "an ext4 volume exists before its pod, and a later pod reads an earlier pod's data": ({ east }) =>
    inWorkspace(east.cluster, 'ext4', async at => {
      await at.apply(claim('data'));
      await at.untilReads('pvc/data', '{.status.phase}', /^Bound$/);
      await at.apply(pod('writer', { claim: 'data', script: write }));
      await at.untilReady('writer');
      await at.remove('pod/writer');
      await at.apply(pod('reader', { claim: 'data' }));
      await at.untilReady('reader');
      assert.equal(await at.exec('reader', 'cat', '/data/file'), 'bytes');
      assert.match(await at.exec('reader', 'grep', '/data', '/proc/mounts'), / ext4 rw/);
    }),

  'an xfs volume waits for its first pod, and is mounted as its class says': ({ east }) =>
    inWorkspace(east.cluster, 'xfs', async at => {
      await at.apply(claim('data', { class: 'xfs', size: '320Mi' }));
      await at.untilEvent('pvc/data', /waiting for first consumer/);
      await at.apply(pod('first', { claim: 'data', script: write }));
      await at.untilReady('first');
      assert.match(await at.exec('first', 'grep', '/data', '/proc/mounts'), / xfs rw,.*noatime/);
    }),

  'a pod has a disk without a filesystem, and a later pod reads the same bytes': ({ east }) =>
    inWorkspace(east.cluster, 'block', async at => {
      const disk = { claim: 'disk', isBlock: true };
      await at.apply(
        claim('disk', { isBlock: true }),
        pod('writer', { ...disk, script: 'echo block | dd of=/dev/data conv=fsync' }),
      );
      await at.untilReady('writer');
      await at.remove('pod/writer');
      await at.apply(pod('reader', disk));
      await at.untilReady('reader');
      assert.equal(await at.exec('reader', 'head', '-c', '5', '/dev/data'), 'block');
    }),

  'a pod that may only read has a disk without a filesystem, and cannot write to it': ({ east }) =>
    inWorkspace(east.cluster, 'block-reader', async at => {
      const disk = { claim: 'disk', isBlock: true };
      const fill = 'echo block | dd of=/dev/data conv=fsync';
      await at.apply(claim('disk', { isBlock: true }), pod('writer', { ...disk, script: fill }));
      await at.untilReady('writer');
      await at.remove('pod/writer');
      await at.apply(pod('reader', { ...disk, isReadOnly: true }));
      await at.untilReady('reader');
      assert.equal(await at.exec('reader', 'head', '-c', '5', '/dev/data'), 'block');
      await assert.rejects(at.exec('reader', 'sh', '-c', 'echo other > /dev/data'));
    }),

  'an ephemeral volume belongs to the group of its pod and goes with it': ({ east }) =>
    inWorkspace(east.cluster, 'ephemeral', async at => {
      const volume = { ephemeral: { volumeClaimTemplate: { spec: claimSpec({}) } } };
      const securityContext = { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 };
      await at.apply(pod('scratch', { volume, securityContext, script: write }));
      await at.untilReady('scratch');
      assert.equal(await at.exec('scratch', 'stat', '-c', '%u %g', '/data/file'), '1000 2000');
      await at.remove('pod/scratch');
      await at.kubectl('wait', '--for=delete', 'pvc/scratch-data', '--timeout=180s');
    }),

  'a ReadWriteOncePod volume is one pod alone has, until that has gone': ({ east }) =>
    inWorkspace(east.cluster, 'one-pod', async at => {
      const data = { claim: 'data' };
      await at.apply(claim('data', { mode: 'ReadWriteOncePod' }), pod('first', { ...data, script: write }));
      await at.untilReady('first');
      await at.apply(pod('second', data));
      await at.untilEvent('pod/second', /ReadWriteOncePod/);
      await at.remove('pod/first');
      await at.untilReady('second');
      assert.equal(await at.exec('second', 'cat', '/data/file'), 'bytes');
    }),

  'two pods of one node share a ReadWriteOnce volume': ({ east }) =>
    inWorkspace(east.cluster, 'one-node', async at => {
      const data = { claim: 'data', node: east.nodes[0]?.name ?? '' };
      await at.apply(claim('data'), pod('first', { ...data, script: write }), pod('second', data));
      await at.untilReady('first', 'second');
      assert.equal(await at.exec('second', 'cat', '/data/file'), 'bytes');
      await at.remove('pod/first');
      assert.equal(await at.exec('second', 'cat', '/data/file'), 'bytes');
    }),
};

/** Scenarios of directories that several nodes share. */
export const sharedDirectoryScenarios: Scenarios<EastInstallation> = {
  'pods on all nodes write one ReadWriteMany directory, and a pod that may only read does so': ({ east }) =>
    inWorkspace(east.cluster, 'many', async at => {
      const nodes = east.nodes.map(({ name }) => name);
      await at.apply(
        claim('shared', { class: 'files', mode: 'ReadWriteMany' }),
        ...nodes.map(node => pod(node, { claim: 'shared', node, script: `echo ${node} > /data/${node}` })),
      );
      await at.untilReady(...nodes);
      await at.apply(pod('reader', { claim: 'shared', isReadOnly: true }));
      await at.untilReady('reader');
      const files = nodes.map(node => `/data/${node}`);
      assert.equal(await at.exec('reader', 'cat', ...files), nodes.join('\n'));
      await assert.rejects(at.exec('reader', 'touch', '/data/mine'), /Read-only file system/);
    }),
};
