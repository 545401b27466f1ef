import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { whyNoCluster } from '../build/main.ts';
import type { Site } from '../cluster/site.ts';
import { installEast, openInstallationSite } from '../installation/installation.ts';
import { untilNothingIsLeft } from '../scenarios/leftovers.ts';
import { useSite } from '../suite.ts';
import { drivers, type Pool } from './drivers.ts';
import { exceptionsFor, leftOutFor } from './exceptions.ts';
import { createJudge } from './judge.ts';
import type { Selection } from './specs.ts';
import { serveSsh } from './ssh.ts';
import { testSpecs } from './subtests.ts';

/** The number of specs that run at a time. Most of them wait most of their time. */
const processes = 12;

/** A regular expression that limits a run to the specs with matching names. */
const focus = process.env['UPSTREAM_FOCUS'];

describe("Kubernetes' suite for external storage", { skip: whyNoCluster() }, () => {
  const scenario = useSite(openInstallationSite, installWithSsh);

  for (const pool of Object.keys(drivers) as readonly Pool[])
    scenario(
      `on a pool of the backend ${pool} every spec passes unless it is an exception, and leaves nothing`,
      async ({ gateway, east, sshKey }, t) => {
        const judge = createJudge(exceptionsFor(pool));
        const run = (selection: Pick<Selection, 'labels' | 'processes' | 'sshKey'>) =>
          testSpecs(t, east, { pool, judge, focus, leftOut: leftOutFor(pool), ...selection });
        const sideBySide = await run({ labels: '!Disruptive', processes });
        // A spec that stops kubelet would disturb others.
        const alone = await run({ labels: 'Disruptive', processes: 1, sshKey });
        assert.equal(sideBySide.faults + alone.faults, 0, 'specs failed');
        if (focus === undefined) assert.deepEqual(judge.faults(), []);
        else assert.notEqual(sideBySide.names.length + alone.names.length, 0, `no spec matches ${focus}`);
        await untilNothingIsLeft(gateway, [east]);
      },
    );
});

async function installWithSsh(site: Site) {
  const installation = await installEast(site);
  return { ...installation, sshKey: serveSsh(site, installation.east.nodes) };
}
