import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe } from 'node:test';
import { version } from '../../src/lib/version.ts';
import { whyNoCluster } from './build/main.ts';
import type { Site } from './cluster/site.ts';
import { waitFor } from './cluster/wait.ts';
import { agent, containersOf, controller } from './installation/containers.ts';
import { startGateway, type Gateway } from './installation/gateway.ts';
import { buildImage } from './installation/image.ts';
import {
  openInstallationSite,
  prepareCluster,
  startWithNodes,
  type InstalledCluster,
} from './installation/installation.ts';
import { unpackPrevious, type PreviousRelease } from './installation/previous.ts';
import { releaseFor, releaseNamespace } from './installation/release.ts';
import { startWriters } from './scenarios/faults/writers.ts';
import { untilNothingIsLeft } from './scenarios/leftovers.ts';
import { claim, fromSnapshot, pod, snapshot } from './scenarios/manifests.ts';
import { inWorkspace, type Workspace } from './scenarios/workspace.ts';
import { useSite } from './suite.ts';

const components = ['controller', 'node'] as const;
type Component = (typeof components)[number];

/** A gateway of the previous release, and a cluster in which nothing is installed yet. */
type Skew = {
  readonly gateway: Gateway;
  readonly served: InstalledCluster;
  readonly previous: PreviousRelease;
};

async function prepare(site: Site): Promise<Skew> {
  const previous = await unpackPrevious(site);
  const [gateway, image, started] = await Promise.all([
    startGateway(site, ['east'], { command: previous.command }),
    buildImage(join(site.directory, 'image')),
    startWithNodes(site, { number: 1, nodes: ['east-1'], firstNode: 1 }),
  ]);
  const served = await prepareCluster(started, releaseFor('east'), { gateway, image });
  return { gateway, served, previous };
}

describe('programs of the previous release and of this one on Kubernetes', { skip: whyNoCluster() }, () => {
  const scenario = useSite(openInstallationSite, prepare);

  scenario(
    'pods write on while their cluster and then the gateway are upgraded, and the cluster goes back and forth',
    async ({ gateway, served, previous }, t) => {
      const install = (old: readonly Component[]) =>
        served.release.install(...old.flatMap(previous.valuesOf));
      await install(components);
      await inWorkspace(served.cluster, 'skew', async at => {
        const writers = await startWriters(at, ['east-1']);
        /** Runs these components in the previous version, and takes a volume through its life. */
        const live = async (name: string, old: readonly Component[]): Promise<void> => {
          await install(old);
          await requireVersions(
            served,
            components.map(one => (old.includes(one) ? previous.version : version)),
          );
          await liveOnce(at, name);
          await writers.requireUnharmed();
        };
        await live('all-old', components);
        await live('new-agent', ['controller']);
        await live('old-gateway', []);
        await gateway.process().end();
        await gateway.start();
        await live('all-new', []);
        await live('old-agent', ['node']);
        await live('new-gateway', components);
        await live('all-new-again', []);
        for (const [what, tookMs] of Object.entries(await writers.maxPauses()))
          t.diagnostic(`${what}: ${tookMs} ms`);
      });
      await untilNothingIsLeft(gateway, [served]);
    },
  );
});

/** Waits until the ready controller and agent of a cluster have these versions. */
async function requireVersions({ cluster }: InstalledCluster, versions: readonly string[]): Promise<void> {
  await waitFor(`the versions ${versions.join(' and ')}`, async () => {
    for (const [index, part] of [controller, agent].entries()) {
      const containers = await containersOf({ cluster }, part);
      assert.equal(containers.length, 1);
      const argv = ['exec', containers[0]?.pod ?? '', '--container', part.container, '--'];
      const found = await cluster.kubectl('--namespace', releaseNamespace, ...argv, 'fairlead', '--version');
      assert.equal(found, versions[index]);
    }
    return true;
  });
}

/** Takes a volume through its life, with a snapshot and a larger copy. */
async function liveOnce(at: Workspace, name: string): Promise<void> {
  const script = 'echo bytes > /data/file; sync';
  const [reader, copy] = [`${name}-reader`, `${name}-copy`];
  await at.apply(claim(name), pod(name, { claim: name, script }));
  await at.untilReady(name);
  await at.remove(`pod/${name}`);
  await at.apply(snapshot(name, name));
  await at.untilReads(`volumesnapshot/${name}`, '{.status.readyToUse}', /^true$/);
  const larger = claim(copy, { size: '128Mi', dataSource: fromSnapshot(name) });
  await at.apply(larger, pod(reader, { claim: name }), pod(copy, { claim: copy }));
  await at.untilReady(reader, copy);
  for (const one of [reader, copy]) assert.equal(await at.exec(one, 'cat', '/data/file'), 'bytes');
  await at.remove(`pod/${reader}`, `pod/${copy}`, `volumesnapshot/${name}`, `pvc/${name}`, `pvc/${copy}`);
}
