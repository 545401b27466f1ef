import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { exec } from '../../../src/lib/exec.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { filesBelow, referenceVendors, startVendor } from '../../fakes/storages/reference.ts';
import { bridgeCommand, startBridged, startDriver } from '../../harness/bridged.ts';
import { directoryOf, loopDevicesOf, mountsBelow, noRoot } from '../../harness/machine.ts';
import { cli } from '../../harness/program.ts';
import { sample, seed } from '../../harness/sample.ts';
import { startTrio } from '../../harness/trio.ts';

const drivers = [
  { title: 'a driver', start: async (t: TestContext, dir: string) => (await startDriver(t, dir)).env },
  { title: 'a driver that snapshots groups', start: startDriverWithGroups },
];

for (const { title, start } of sample('drivers', drivers, 1))
  test(
    `the kit finds nothing in a bridge over ${title}, lost answers and restarts included`,
    { skip: noRoot },
    async t => {
      const env = await start(t, directoryOf(t));
      const report = await runKit(t, { command: bridgeCommand, seed, env });
      const faults = report.results.filter(({ failure }) => failure);
      assert.deepEqual(
        faults.map(({ id, failure }) => [id, failure?.expected]),
        [],
      );
      assert.deepEqual(report.left, []);
    },
  );

/** Starts a Fairlead over a storage that snapshots groups, as a driver, and returns the variables of a bridge over it. */
async function startDriverWithGroups(t: TestContext, dir: string) {
  const { command } = referenceVendors[1];
  const { url, token, directory } = await startVendor(t, { command, env: { CAPACITY: `${2 ** 40}` } });
  writeFileSync(join(dir, 'token'), token);
  const pool = { backend: 'rest', url, token: 'token', ...filesBelow(directory) };
  const advertised = ['group-snapshots'];
  const { controller, nodes } = await startTrio(t, {
    dir,
    pool,
    nodeNames: ['node'],
    localRoot: directory,
    advertised,
  });
  return { CSI_ENDPOINT: controller, NODE_ID: nodes[0]?.nodeId ?? '' };
}

test('a volume of a driver lives its whole life behind a gateway', { skip: noRoot }, async t => {
  const dir = directoryOf(t);
  await startBridged(t, dir);
  const demo = [cli, 'demo', '--dir', join(dir, 'own')];
  const { status, stdout, stderr } = await exec(process.execPath, demo, { timeoutMs: 120_000 });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /nothing is left behind/);
  assert.deepEqual([mountsBelow(dir), loopDevicesOf(dir)], [[], []]);
});
