import assert from 'node:assert/strict';
import { agent, controller, killAndWait } from '../../installation/containers.ts';
import type { Installation } from '../../installation/installation.ts';
import { waitFor } from '../../cluster/wait.ts';
import { claim, pod } from '../manifests.ts';
import { inWorkspace, type Scenarios, type Workspace } from '../workspace.ts';
import { nodesOf } from './nodes.ts';
import { startWriters } from './writers.ts';

/** Scenarios that kill programs and wait for their restart; no other scenario may kill them meanwhile. */
export const killScenarios: Scenarios = {
  'pods write on while kubelet, agent, controller and gateway are killed, and the next pod has its volume':
    async installation => {
      const { east, gateway } = installation;
      const { kept } = await nodesOf(east);
      const kills = {
        kubelet: () => restartKubelet(kept),
        agent: () => killAndWait(east, agent, kept.name),
        controller: () => killAndWait(east, controller, kept.name),
        gateway: () => restartGateway(gateway),
      };
      return inWorkspace(east.cluster, 'killed', async at => {
        const writers = await startWriters(at, [kept.name]);
        for (const [name, play] of Object.entries(kills)) {
          await play();
          await at.apply(claim(name), pod(name, { claim: name, node: kept.name }));
          await at.untilReady(name);
          await writers.requireUnharmed();
        }
        return writers.maxPauses();
      });
    },

  'each of 50 claims gets one volume while controller and gateway are killed': async ({ east, gateway }) => {
    const { kept } = await nodesOf(east);
    await inWorkspace(east.cluster, 'claims', async at => {
      const apply = (first: number) =>
        at.apply(...Array.from({ length: 10 }, (_, index) => claim(`claim-${first + index}`)));
      await Promise.all([apply(0), restartGateway(gateway)]);
      await Promise.all([apply(10), killAndWait(east, controller, kept.name)]);
      await Promise.all([apply(20), restartGateway(gateway)]);
      await Promise.all([apply(30), restartGateway(gateway), killAndWait(east, controller, kept.name)]);
      await apply(40);
      await at.untilReads('pvc', '{.items[*].status.phase}', /^(Bound ?){50}$/);
      await requireOneVolumeEach(at, gateway);
    });
  },
};

async function restartKubelet(node: Installation['east']['nodes'][number]): Promise<void> {
  await node.kubelet().end('SIGKILL');
  node.startKubelet();
}

async function restartGateway({ process, start }: Installation['gateway']): Promise<void> {
  await process().end('SIGKILL');
  await start();
}

/**
 * Fails unless each claim has exactly one volume. Other scenarios create and delete volumes meanwhile, which the
 * gateway has longer than the cluster.
 */
async function requireOneVolumeEach(at: Workspace, gateway: Installation['gateway']): Promise<void> {
  const names = (await at.kubectl('get', 'pvc', '--output', 'jsonpath={.items[*].spec.volumeName}')).split(
    ' ',
  );
  assert.equal(new Set(names).size, 50);
  for (const name of names) assert.equal(gateway.count('volumes', 'id = ?', `east.${name}`), 1);
  await waitFor('as many volumes as the cluster has', async () => {
    const volumes = await at.kubectl('get', 'pv', '--output', 'jsonpath={.items[*].metadata.name}');
    assert.equal(gateway.count('volumes', 'cluster = ?', 'east'), volumes.split(' ').length);
    await gateway.check();
    return true;
  });
}
