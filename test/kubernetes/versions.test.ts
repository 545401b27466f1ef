import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe } from 'node:test';
import { directory, whyNoCluster } from './build/main.ts';
import { otherVersions, partOf } from './build/parts.ts';
import {
  installEast,
  openInstallationSite,
  type EastInstallation,
  type InstalledCluster,
} from './installation/installation.ts';
import { copyScenarios } from './scenarios/copies.ts';
import { rolloutScenarios } from './scenarios/faults/rollout.ts';
import { untilNothingIsLeft } from './scenarios/leftovers.ts';
import { sharedDirectoryScenarios, volumeScenarios } from './scenarios/volumes.ts';
import type { Scenarios } from './scenarios/workspace.ts';
import { useSite } from './suite.ts';

/** The number of scenarios that run at a time. */
const concurrency = 6;

for (const version of otherVersions) {
  const part = partOf(version);
  const skip = whyNoCluster() || whyNoCluster([part]);
  describe(`Fairlead on Kubernetes ${version}`, { skip }, () => {
    const scenario = useSite(openInstallationSite, site => installEast(site, join(directory, part)));

    const testAll = (scenarios: Scenarios<EastInstallation>) => {
      for (const [sentence, play] of Object.entries(scenarios))
        scenario(sentence, async (installation, t) => {
          const figures = await play(installation);
          for (const [what, tookMs] of Object.entries(figures ?? {})) t.diagnostic(`${what}: ${tookMs} ms`);
        });
    };

    scenario('the API server and every kubelet have this version', async ({ east }, t) => {
      const found = await versionsOf(east);
      t.diagnostic(found.join(' '));
      for (const one of found) assert.ok(one.startsWith(`v${version}.`), one);
    });

    describe('side by side', { concurrency }, () => {
      testAll(copyScenarios);
      testAll(volumeScenarios);
      testAll(sharedDirectoryScenarios);
    });

    testAll(rolloutScenarios);

    scenario('when all is deleted, nothing is left', ({ gateway, east }) =>
      untilNothingIsLeft(gateway, [east]),
    );
  });
}

/** Lists the versions of the API server and of the nodes' kubelets. */
async function versionsOf({ cluster, nodes }: InstalledCluster): Promise<readonly string[]> {
  const { gitVersion } = JSON.parse(await cluster.kubectl('get', '--raw', '/version'));
  const path = 'jsonpath={.items[*].status.nodeInfo.kubeletVersion}';
  const kubelets = (await cluster.kubectl('get', 'nodes', '--output', path)).split(' ');
  assert.equal(kubelets.length, nodes.length);
  return [gitVersion, ...kubelets];
}
