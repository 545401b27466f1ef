import assert from 'node:assert/strict';
import { smallCluster, type Installation } from '../installation/installation.ts';
import { prepareRelease, type ReleasePlan } from '../installation/release.ts';
import { claim, pod, type PodOptions } from './manifests.ts';
import { inWorkspace, type Scenarios, type Workspace } from './workspace.ts';

/** A second release of the same name, of a driver whose nodes take few volumes. */
const plan: ReleasePlan = {
  name: smallCluster,
  namespace: 'small',
  values: {
    driver: { name: 'small.fairlead.dev', allocatableUpdateSeconds: 10 },
    sidecars: { snapshotter: { enabled: false } },
    storageClasses: [{ name: 'small', pool: 'files', volumeBindingMode: 'Immediate' }],
  },
};

/** The values that must differ between two agents on one node. */
const apart = ['node.port=9811', 'node.statePath=/var/lib/fairlead-small'];

/** Scenarios of nodes with their maximum of volumes. */
export const limitScenarios: Scenarios = {
  'a full node gets no pod until a volume has gone, or until it takes more': async ({ gateway, east }) => {
    const { cluster } = east;
    const release = await prepareRelease(cluster, plan, gateway);
    const takeAtMost = (count: number) => release.install(...apart, `node.maxVolumes=${count}`);
    await takeAtMost(1);
    await inWorkspace(cluster, 'limits', async at => {
      await fillNodes(at);
      await passScheduler(at, gateway);
      await apply(at, 'later');
      await untilFull(at, 'later');
      await takeAtMost(2);
      await at.untilReady('later');
    });
    await release.uninstall();
    await cluster.kubectl('delete', 'namespace', plan.namespace, '--timeout=180s');
  },
};

/**
 * Fills two nodes with one volume each: the second pod goes to the other node, and the third waits until a volume is
 * gone.
 */
async function fillNodes(at: Workspace): Promise<void> {
  await apply(at, 'one');
  await at.untilReady('one');
  await apply(at, 'two');
  await at.untilReady('two');
  const nodes = await at.kubectl('get', 'pods', '--output', 'jsonpath={.items[*].spec.nodeName}');
  assert.deepEqual(nodes.split(' ').sort(), ['east-1', 'east-2']);
  await apply(at, 'three');
  await untilFull(at, 'three');
  await at.remove('pod/one');
  await at.untilReady('three');
}

/** Starts a pod on a full node past the scheduler: the pod waits there, its events say why, and it runs in the end. */
async function passScheduler(at: Workspace, gateway: Installation['gateway']): Promise<void> {
  const node = await at.untilReads('pod/two', '{.spec.nodeName}', /./);
  await apply(at, 'sent', { node, isAssigned: true });
  await at.untilEvent(
    'pod/sent',
    new RegExp(`node "${node}~[^"]+" has 1 volumes attached, and its maximum is 1`),
  );
  const volume = await at.untilReads('pvc/sent', '{.spec.volumeName}', /./);
  const error = `{.items[?(@.spec.source.persistentVolumeName=="${volume}")].status.attachError.errorCode}`;
  await at.untilReads('volumeattachments', error, /^8$/);
  assert.equal(gateway.count('attachments', 'volume_id = ?', `${smallCluster}.${volume}`), 0);
  await at.remove('pod/two');
  await at.untilReady('sent');
}

/** Resolves once a pod waits because no node takes another volume. */
async function untilFull(at: Workspace, name: string): Promise<void> {
  await at.untilReads(`pod/${name}`, '{.status.conditions[*].message}', /exceed max volume count/);
}

function apply(at: Workspace, name: string, options: PodOptions = {}): Promise<void> {
  return at.apply(claim(name, { class: 'small' }), pod(name, { claim: name, ...options }));
}
