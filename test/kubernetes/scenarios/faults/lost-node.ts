import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Node } from '../../cluster/node.ts';
import { signalTo } from '../../cluster/program.ts';
import { waitFor } from '../../cluster/wait.ts';
import { agent, kill, processesIn } from '../../installation/containers.ts';
import type { Installation } from '../../installation/installation.ts';
import { claim, pod } from '../manifests.ts';
import { inWorkspace, type Scenarios, type Workspace } from '../workspace.ts';
import { nodesOf } from './nodes.ts';
import { statefulSet } from './stateful-set.ts';

const taint = 'node.kubernetes.io/out-of-service';

/** Scenarios of a node that is lost and comes back; no other scenario may need it meanwhile. */
export const lostNodeScenarios: Scenarios = {
  'pods of a lost node run on another once their volumes are detached, and nothing is left when it is back':
    async installation => {
      const { east, gateway } = installation;
      const { kept, lost } = await nodesOf(east);
      await inWorkspace(east.cluster, 'lost', async at => {
        const directory = await startOn(at, lost, { name: 'directory', class: 'files' });
        const device = await startOn(at, lost, { name: 'device', class: 'ext4' });
        await lost.kubelet().end('SIGKILL');
        await kill(east, agent, lost.name);
        await at.kubectl('wait', '--for=condition=Ready=Unknown', `node/${lost.name}`, '--timeout=180s');
        await at.kubectl('taint', 'node', lost.name, `${taint}=nodeshutdown:NoExecute`);
        await requireHeld(installation, at, device);
        await turnOff(lost);
        await requireMoved(at, directory, { from: lost, to: kept });
        await requireMoved(at, device, { from: lost, to: kept });
        await at.kubectl('scale', 'statefulset/device', '--replicas=0');
        const isAttached = () => gateway.count('attachments', 'volume_id = ?', device.volumeId) > 0;
        await waitFor('the volume to be detached', () => !isAttached() || undefined);
        await comeBack(at, lost);
        for (const app of [directory, device]) await untilNothingIsOn(lost, app);
        await at.apply(claim('next'), pod('next', { claim: 'next', node: lost.name }));
        await at.untilReady('next');
      });
    },
};

/** A StatefulSet of one pod, with its volume's name in the cluster and id at the gateway. */
type App = { readonly name: string; readonly volume: string; readonly volumeId: string };
type AppPlan = { readonly name: string; readonly class: string };

/** Starts a StatefulSet whose pod prefers that node and records its first node. */
async function startOn(at: Workspace, { name: node }: Node, plan: AppPlan): Promise<App> {
  const script = `[ -e /data/first ] || echo ${node} > /data/first; sync`;
  await at.apply(statefulSet(plan.name, { script, prefers: node }, { class: plan.class }));
  await at.kubectl('scale', `statefulset/${plan.name}`, '--replicas=1');
  await at.untilReads(`pod/${plan.name}-0`, '{.spec.nodeName}', new RegExp(`^${node}$`));
  await at.untilReady(`${plan.name}-0`);
  const volume = await at.untilReads(`pvc/data-${plan.name}-0`, '{.spec.volumeName}', /./);
  return { name: plan.name, volume, volumeId: `east.${volume}` };
}

/**
 * Fails unless the gateway keeps the volume attached while the lost node can still write, and reports that on the
 * VolumeAttachment.
 */
async function requireHeld({ gateway }: Installation, at: Workspace, app: App): Promise<void> {
  const attachment = `{.items[?(@.spec.source.persistentVolumeName=="${app.volume}")]`;
  await at.untilReads('volumeattachments', `${attachment}.status.detachError.message}`, /still in use/);
  assert.equal(gateway.count('attachments', 'volume_id = ?', app.volumeId), 1);
  const phase = await at.kubectl('get', `pod/${app.name}-0`, '--output', 'jsonpath={.status.phase}');
  assert.notEqual(phase, 'Running');
}

type Move = { readonly from: Node; readonly to: Node };

async function requireMoved(at: Workspace, { name }: App, { from, to }: Move): Promise<void> {
  await at.untilReads(`pod/${name}-0`, '{.spec.nodeName}', new RegExp(`^${to.name}$`));
  await at.untilReady(`${name}-0`);
  assert.equal(await at.exec(`${name}-0`, 'cat', '/data/first'), from.name);
}

/** Ends a node's containers and removes its volumes' devices, as a power cut does; directories stay mounted. */
async function turnOff(node: Node): Promise<void> {
  for (const file of globSync(`/sys/fs/cgroup/{,memory/}${node.namespace.cgroup}/**/cgroup.procs`))
    for (const pid of processesIn(dirname(file))) signalTo(pid, 'SIGKILL');
  // A device that is detached while it is mounted goes with its last mount.
  const mounts = `findmnt --list --noheadings --output SOURCE,TARGET | grep '^/dev/loop.*kubernetes.io.csi'`;
  const remove = 'losetup --detach "$device"; umount --lazy "$path"';
  await node.run(['sh', '-c', `${mounts} | while read -r device path; do ${remove}; done`]);
}

async function comeBack(at: Workspace, node: Node): Promise<void> {
  node.startKubelet();
  await at.kubectl('wait', '--for=condition=Ready', `node/${node.name}`, '--timeout=180s');
  await at.kubectl('taint', 'node', node.name, `${taint}-`);
}

/** Waits until a node has no mount, kubelet directory or agent record of the volume. */
export async function untilNothingIsOn(node: Node, { volume }: Pick<App, 'volume'>): Promise<void> {
  const looks = [
    `grep -F ${volume} /proc/self/mountinfo`,
    `ls -d /var/lib/kubelet/pods/*/volumes/*/${volume}`,
    `grep -rl ${volume} /var/lib/fairlead/volumes`,
  ];
  await waitFor('nothing of the volume to be left there', async () => {
    assert.equal(await node.run(['sh', '-c', `${looks.join('; ')}; true`]), '');
    return true;
  });
}
