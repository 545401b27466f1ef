import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { whyNoCluster } from './build/main.ts';
import { install, openInstallationSite, type Installation } from './installation/installation.ts';
import type { Site } from './cluster/site.ts';
import { copyScenarios } from './scenarios/copies.ts';
import { deploymentScenarios } from './scenarios/deployment.ts';
import { measure } from './scenarios/figures.ts';
import { guideScenarios } from './scenarios/guide.ts';
import { requireGone, untilNothingIsLeft } from './scenarios/leftovers.ts';
import { placementScenarios } from './scenarios/placement.ts';
import { volumeScenarios } from './scenarios/volumes.ts';

/** How many scenarios run at a time. */
const concurrency = 6;
const skip = whyNoCluster();

describe('Fairlead on Kubernetes', { skip }, () => {
  let site: Site;
  let installation: Installation;
  let hasFailed = true;

  before(async () => {
    site = await openInstallationSite();
    installation = await install(site);
    hasFailed = false;
  });

  after(async () => {
    if (hasFailed) process.stderr.write(`logs: ${site.saveLogs()}\n`);
    await site.end();
    requireGone(site.directory);
  });

  test('a pod with a volume starts soon after one without; programs take little memory', async t => {
    const { times, memory } = await measure(installation);
    for (const [what, figure] of Object.entries({ ...times, ...memory })) t.diagnostic(`${what}: ${figure}`);
  });

  describe('side by side', { concurrency }, () => {
    for (const [sentence, play] of Object.entries({
      ...copyScenarios,
      ...volumeScenarios,
      ...placementScenarios,
      ...deploymentScenarios,
      ...guideScenarios,
    }))
      test(sentence, async () => {
        await play(installation).catch((error: unknown) => {
          hasFailed = true;
          throw error;
        });
      });
  });

  test('when all is deleted, nothing is left at the gateway, in the pools, on the nodes', async () => {
    assert.equal(hasFailed, false, 'scenarios failed');
    hasFailed = true;
    await untilNothingIsLeft(installation);
    hasFailed = false;
  });
});
