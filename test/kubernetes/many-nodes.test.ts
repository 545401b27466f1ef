import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import { whyNoCluster } from './build/main.ts';
import type { Site } from './cluster/site.ts';
import { controller } from './installation/containers.ts';
import { startGateway, type Gateway } from './installation/gateway.ts';
import { buildImage } from './installation/image.ts';
import {
  openInstallationSite,
  prepareCluster,
  startWithNodes,
  type InstalledCluster,
} from './installation/installation.ts';
import { createMany, deleteMany, untilCounted } from './installation/many.ts';
import { nodeGraceSeconds, onPlayedNodes, playNodes, type PlayedNodes } from './installation/played-nodes.ts';
import { releaseFor, releaseNamespace } from './installation/release.ts';
import { untilNothingIsLeft } from './scenarios/leftovers.ts';
import { claim, pod } from './scenarios/manifests.ts';
import { memoryOf } from './scenarios/memory.ts';
import { inWorkspace, type Workspace } from './scenarios/workspace.ts';
import { useSite } from './suite.ts';

/** The number of nodes that kwok plays, and the number of claims and pods. */
const [many, claims] = [1_000, 200] as const;

/** The bound of the controller's memory in MB, with caches. */
const maxControllerMb = 110;

const skip = whyNoCluster() || whyNoCluster(['kwok']);

/** A cluster of one real node, which runs the controller, and of played nodes. */
type LargeCluster = {
  readonly gateway: Gateway;
  readonly served: InstalledCluster;
  readonly played: PlayedNodes;
};

async function prepare(site: Site): Promise<LargeCluster> {
  const [gateway, image, started] = await Promise.all([
    startGateway(site, ['east']),
    buildImage(join(site.directory, 'image')),
    startWithNodes(site, { number: 1, nodes: ['east-1'], firstNode: 1, nodeGraceSeconds }),
  ]);
  const served = await prepareCluster(started, releaseFor('east'), { gateway, image });
  await served.release.install();
  return { gateway, served, played: playNodes(served.cluster, 'east-1', many) };
}

describe(`Fairlead in a cluster of ${many} nodes`, { skip }, () => {
  const scenario = useSite(openInstallationSite, prepare);

  scenario('the controller reports each node once, in little memory', async (large, t) => {
    const { gateway, served, played } = large;
    await tellMemory(large, t);
    const joinMs = await timed(async () => {
      await played.join();
      await untilCounted('ready agents', many + 1, () => agentsOf(served));
    });
    t.diagnostic(`${many} nodes joined and run the pod of an agent: ${joinMs} ms`);
    const reportMs = await timed(async () => {
      await played.register();
      await untilCounted('reported nodes', many + 1, () => gateway.count('nodes'));
    });
    t.diagnostic(`the driver is registered on them, and the gateway knows them: ${reportMs} ms`);
    assert.equal(await reportsOf(served), many + 1);
    await tellMemory(large, t);
  });

  scenario('claims are bound, are attached to the nodes of their pods, and go', async (large, t) => {
    const { gateway, served } = large;
    await inWorkspace(served.cluster, 'many', async at => {
      const names = Array.from({ length: claims }, (_, index) => `many-${index}`);
      const boundMs = await timed(async () => {
        await createMany(
          at.cluster,
          names.map(name => claim(name)),
          at.name,
        );
        await untilCounted('bound claims', claims, () => countIn(at, 'pvc', '@.status.phase=="Bound"'));
      });
      t.diagnostic(`${claims} claims are bound: ${boundMs} ms`);
      const attachedMs = await timed(async () => {
        await createMany(at.cluster, names.map(podOnPlayedNode), at.name);
        await untilCounted('pods', claims, () => countIn(at, 'pods', '@.status.phase=="Running"'));
        const attached = () => countIn(at, 'volumeattachments', '@.status.attached==true');
        await untilCounted('attached volumes', claims, attached);
      });
      t.diagnostic(`${claims} pods are on nodes with their volumes: ${attachedMs} ms`);
      assert.equal(gateway.count('attachments'), claims);
      const goneMs = await timed(async () => {
        const namespace = `/api/v1/namespaces/${at.name}`;
        for (const kind of ['pods', 'persistentvolumeclaims'])
          await deleteMany(at.cluster, `${namespace}/${kind}`);
        await untilCounted('volumes', 0, () => gateway.count('volumes'));
      });
      t.diagnostic(`${claims} pods, claims and volumes are gone: ${goneMs} ms`);
    });
    assert.equal(await reportsOf(served), many + 1, 'a volume changes no node');
    await tellMemory(large, t);
  });

  scenario('when the nodes leave, the gateway forgets them, and nothing is left', async (large, t) => {
    const { gateway, served, played } = large;
    const leftMs = await timed(async () => {
      await played.leave();
      await untilCounted('reported nodes', 1, () => gateway.count('nodes'));
    });
    t.diagnostic(`${many} nodes left and are forgotten: ${leftMs} ms`);
    await untilNothingIsLeft(gateway, [served]);
  });
});

/** Measures a time in milliseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return Math.round(performance.now() - startedMs);
}

/** Reports the memory of the controller, and fails if it has ever been above its bound. */
async function tellMemory({ served }: LargeCluster, t: TestContext): Promise<void> {
  const found = await memoryOf(served, controller);
  assert.equal(found.length, 1);
  for (const { inUse, peak } of found) {
    t.diagnostic(`the controller has ${inUse} MB in use, at most ${peak} MB`);
    assert.ok(peak <= maxControllerMb, `${peak} MB`);
  }
}

/** Counts the ready pods of the DaemonSet. */
async function agentsOf({ cluster }: InstalledCluster): Promise<number> {
  const name = ['daemonset/fairlead-node', '--namespace', releaseNamespace];
  return Number(await cluster.kubectl('get', ...name, '--output', 'jsonpath={.status.numberReady}'));
}

/** Counts the nodes that the controller has reported so far, a node for each time. */
async function reportsOf({ cluster }: InstalledCluster): Promise<number> {
  const name = ['deployment/fairlead-controller', '--container=controller', '--namespace', releaseNamespace];
  const log = await cluster.kubectl('logs', ...name);
  return log.split('\n').filter(line => line.includes('reported the node')).length;
}

/** Makes a pod with a claim of the same name, on one of the nodes that are played. */
function podOnPlayedNode(name: string): object {
  const manifest = pod(name, { claim: name, hasNoProbe: true });
  const { spec } = manifest as { readonly spec: object };
  return { ...manifest, spec: { ...spec, ...onPlayedNodes } };
}

/** Counts the objects that meet a condition of kubectl's JSONPath. */
async function countIn(at: Workspace, kind: string, condition: string): Promise<number> {
  const names = `jsonpath={.items[?(${condition})].metadata.name}`;
  const found = await at.kubectl('get', kind, '--output', names);
  return found.split(' ').filter(Boolean).length;
}
