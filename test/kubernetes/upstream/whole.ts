import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { whyNoCluster } from '../build/main.ts';
import type { Site } from '../cluster/site.ts';
import { installEast, openInstallationSite, type Installation } from '../installation/installation.ts';
import { requireGone, untilNothingIsLeft } from '../scenarios/leftovers.ts';
import { drivers, type Pool } from './drivers.ts';
import { exceptionsFor } from './exceptions.ts';
import { createJudge } from './judge.ts';
import type { Selection } from './specs.ts';
import { serveSsh } from './ssh.ts';
import { testSpecs } from './subtests.ts';

/** The number of specs that run at a time. Most of them wait most of their time. */
const processes = 10;

/** A regular expression that limits a run to the specs with matching names. */
const focus = process.env['UPSTREAM_FOCUS'];

describe("Kubernetes' suite for external storage", { skip: whyNoCluster() }, () => {
  let site: Site;
  let installation: Omit<Installation, 'west'>;
  let sshKey: string;
  let hasFailed = true;

  before(async () => {
    site = await openInstallationSite();
    installation = await installEast(site);
    sshKey = serveSsh(site, installation.east.nodes);
    hasFailed = false;
  });

  after(async () => {
    if (hasFailed) process.stderr.write(`logs: ${site.saveLogs()}\n`);
    await site.end();
    requireGone(site.directory);
  });

  for (const pool of Object.keys(drivers) as readonly Pool[])
    test(`every spec passes on a pool of the backend ${pool} unless it is an exception`, async t => {
      const judge = createJudge(exceptionsFor(pool));
      const run = (selection: Omit<Selection, 'pool'>) =>
        testSpecs(t, installation.east, { pool, judge, focus, ...selection });
      const sideBySide = await run({ labels: '!Disruptive', processes });
      // A spec that stops kubelet would disturb others.
      const alone = await run({ labels: 'Disruptive', processes: 1, sshKey });
      hasFailed ||= sideBySide.faults + alone.faults > 0;
      if (focus === undefined) assert.deepEqual(judge.faults(), []);
      else assert.notEqual(sideBySide.names.length + alone.names.length, 0, `no spec matches ${focus}`);
    });

  test('the suite has left nothing', async () => {
    assert.equal(hasFailed, false, 'specs failed');
    hasFailed = true;
    await untilNothingIsLeft(installation.gateway, [installation.east]);
    hasFailed = false;
  });
});
