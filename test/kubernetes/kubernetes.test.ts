import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isFull } from '../harness/sample.ts';
import { whyNoCluster } from './build/main.ts';
import { agent, controller } from './installation/containers.ts';
import { install, openInstallationSite, type Installation } from './installation/installation.ts';
import type { Site } from './cluster/site.ts';
import { changedBlockScenarios } from './scenarios/changed-blocks/changed-blocks.ts';
import { consistencyScenarios } from './scenarios/consistency.ts';
import { copyScenarios } from './scenarios/copies.ts';
import { deploymentScenarios } from './scenarios/deployment.ts';
import { killScenarios } from './scenarios/faults/kills.ts';
import { lostNodeScenarios } from './scenarios/faults/lost-node.ts';
import { rolloutScenarios } from './scenarios/faults/rollout.ts';
import { statefulSetScenarios } from './scenarios/faults/stateful-set.ts';
import { measureTimes } from './scenarios/figures.ts';
import { grantScenarios } from './scenarios/sharing/grants.ts';
import { guideScenarios } from './scenarios/guide.ts';
import { requireGone, untilNothingIsLeft } from './scenarios/leftovers.ts';
import { limitScenarios } from './scenarios/limits.ts';
import { crowdScenarios, loadScenarios } from './scenarios/load.ts';
import { memoryOf } from './scenarios/memory.ts';
import { nodeScenarios } from './scenarios/nodes.ts';
import { placementScenarios } from './scenarios/placement.ts';
import { sharedDirectoryScenarios, volumeScenarios } from './scenarios/volumes.ts';
import type { Scenarios } from './scenarios/workspace.ts';
import type { Pool } from './upstream/drivers.ts';
import { createJudge } from './upstream/judge.ts';
import { slice } from './upstream/slice.ts';
import { testSpecs } from './upstream/subtests.ts';

/** The number of scenarios that run at a time. */
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

  test('a driver registers, and a pod with a volume starts, in a time that is reported', async t => {
    for (const [what, tookMs] of Object.entries(await measureTimes(installation)))
      t.diagnostic(`${what}: ${tookMs} ms`);
  });

  const testAll = (scenarios: Scenarios): void => {
    for (const [sentence, play] of Object.entries(scenarios))
      test(sentence, async t => {
        const figures = await play(installation).catch((error: unknown) => {
          hasFailed = true;
          throw error;
        });
        for (const [what, tookMs] of Object.entries(figures ?? {})) t.diagnostic(`${what}: ${tookMs} ms`);
      });
  };

  const testInTurn = (what: string, scenarios: Scenarios) =>
    describe(what, { concurrency: 1 }, () => testAll(scenarios));
  const noLoad = !isFull && 'minutes for the machine alone: npm run test:kubernetes -- --full --only 200';
  describe('under load', { skip: noLoad }, () => testAll(loadScenarios));

  testAll(crowdScenarios);

  describe('side by side', { concurrency }, () => {
    // The longest scenarios start first.
    testAll(guideScenarios);
    testAll(statefulSetScenarios);
    testAll(limitScenarios);
    testAll(changedBlockScenarios);
    testAll(deploymentScenarios);
    testAll(copyScenarios);
    testAll(grantScenarios);
    testAll(volumeScenarios);
    testAll(sharedDirectoryScenarios);
    testAll(placementScenarios);
    testAll(consistencyScenarios);
  });

  for (const [pool, names] of Object.entries(slice) as readonly [Pool, readonly string[]][])
    test(`a slice of Kubernetes' own suite passes on a pool of the backend ${pool}`, async t => {
      const selection = { pool, labels: '!Disruptive', processes: concurrency, focus: names.join('|') };
      const tested = await testSpecs(t, installation.east, { judge: createJudge([]), ...selection });
      if (tested.faults > 0) hasFailed = true;
      for (const name of names)
        assert.ok(
          tested.names.some(ran => new RegExp(name).test(ran)),
          `no spec matches ${name}`,
        );
    });

  test('after all that the programs have little memory in use', async t => {
    const agents = await memoryOf(installation.east, agent);
    const controllers = await memoryOf(installation.east, controller);
    for (const memory of [...agents, ...controllers]) t.diagnostic(JSON.stringify(memory));
    for (const { inUse } of agents) assert.ok(inUse <= 35, 'the agent in MB');
    for (const { peak } of controllers) assert.ok(peak <= 90, 'the controller in MB');
  });

  describe('nodes and programs that end', { concurrency: 3 }, () => {
    testInTurn('nodes of the first cluster', lostNodeScenarios);
    testInTurn('programs of the first cluster', killScenarios);
    testInTurn('the second cluster', nodeScenarios);
  });

  testInTurn('an upgrade', rolloutScenarios);

  test('when all is deleted, nothing is left at the gateway, in the pools, on the nodes', async () => {
    assert.equal(hasFailed, false, 'scenarios failed');
    hasFailed = true;
    await untilNothingIsLeft(installation.gateway, [installation.east, installation.west]);
    hasFailed = false;
  });
});
