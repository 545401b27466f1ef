import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { canary } from './bridge/driver.ts';
import { installWithBridge, type BridgeInstallation } from './bridge/site.ts';
import { whyNoCluster } from './build/main.ts';
import { openInstallationSite, type InstalledCluster } from './installation/installation.ts';
import { copyScenarios } from './scenarios/copies.ts';
import { untilNothingIsLeft } from './scenarios/leftovers.ts';
import { claim, pod } from './scenarios/manifests.ts';
import { grantScenarios } from './scenarios/sharing/grants.ts';
import { volumeScenarios } from './scenarios/volumes.ts';
import { inWorkspace } from './scenarios/workspace.ts';
import { useSite } from './suite.ts';

describe('a pool over a CSI driver on Kubernetes', { skip: whyNoCluster() }, () => {
  const scenario = useSite<BridgeInstallation>(openInstallationSite, installWithBridge);

  scenario('a claim that is made while the bridge and the driver are down gets one volume', killBoth);
  scenario('no node and no object of a cluster has a secret of the driver', findNoSecret);

  // The pool over the bridge has no shared directories.
  const others = { ...volumeScenarios, ...copyScenarios, ...grantScenarios };
  for (const [sentence, play] of Object.entries(others))
    scenario(sentence, async installation => void (await play(installation)));

  scenario('when all is deleted, nothing is left at the driver, in the pools, on the nodes', async site =>
    untilNothingIsLeft(site.gateway, [site.east, site.west]),
  );
});

async function killBoth({ east, gateway, programs, restart }: BridgeInstallation): Promise<void> {
  await inWorkspace(east.cluster, 'kills', async at => {
    await Promise.all([programs.bridge().end('SIGKILL'), programs.driver().end('SIGKILL')]);
    await at.apply(claim('data'), pod('app', { claim: 'data', script: 'echo bytes > /data/file; sync' }));
    await at.untilEvent('pvc/data', /failed to provision|UNAVAILABLE|Unavailable/);
    restart();
    await at.untilReady('app');
    assert.equal(gateway.count('volumes', 'pool = ?', 'old'), 1);
    assert.equal(gateway.count('volumes', 'pool = ?', 'fast'), 1);
  });
}

/** Looks while a pod uses a volume, as then all attachments and records exist. */
async function findNoSecret({ east }: BridgeInstallation): Promise<void> {
  await inWorkspace(east.cluster, 'canary', async at => {
    await at.apply(claim('data'), pod('app', { claim: 'data' }));
    await at.untilReady('app');
    const kinds = await at.kubectl('api-resources', '--verbs=list', '--output', 'name');
    const listed = kinds.split('\n').filter(kind => !kind.startsWith('componentstatuses'));
    const objects = await at.kubectl('get', listed.join(','), '--all-namespaces', '--output', 'json');
    assert.match(objects, /VolumeAttachment/);
    assert.ok(!objects.includes(canary));
    for (const node of east.nodes) {
      const files = ['/var/lib/kubelet', '/var/lib/fairlead', '/var/lib/storage-example', '/var/log'];
      const search = `grep -rIl --devices=skip ${canary} ${files.join(' ')} 2> /dev/null; true`;
      assert.equal(await node.run(['sh', '-c', search]), '');
    }
    await requireSomeContent(east);
  });
}

/** Fails unless the search above reads the records of the volume. */
async function requireSomeContent({ nodes }: InstalledCluster): Promise<void> {
  const found = await Promise.all(
    nodes.map(node => node.run(['sh', '-c', 'grep -rl storage.example /var/lib/fairlead; true'])),
  );
  assert.ok(found.some(files => files !== ''));
}
