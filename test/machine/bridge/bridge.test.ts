import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { exec } from '../../../src/lib/exec.ts';
import { bridgeCommand, startBridged, startDriver } from '../../fakes/storages/bridged.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { directoryOf, loopDevicesOf, mountsBelow, noRoot } from '../../harness/machine.ts';
import { cli } from '../../harness/program.ts';
import { sample, seed } from '../../harness/sample.ts';
import { drivers, volumeMakerOf } from './drivers.ts';

for (const { title, flagsOf } of sample('drivers', drivers, 1))
  test(
    `the kit finds nothing in a bridge over ${title}, lost answers and restarts included`,
    { skip: noRoot },
    async t => {
      const dir = directoryOf(t);
      const { driver, env } = await startDriver(t, dir, await flagsOf(t, dir));
      const createExisting = volumeMakerOf(t, driver.controller);
      const report = await runKit(t, { command: bridgeCommand, seed, env, createExisting });
      const faults = report.results.filter(({ failure }) => failure);
      assert.deepEqual(
        faults.map(({ id, failure }) => [id, failure?.expected]),
        [],
      );
      assert.deepEqual(report.left, []);
      const imports = report.results.filter(({ id }) => id.startsWith('FL-3.9-') || id === 'FL-8.3-6');
      assert.deepEqual(new Set(imports.map(({ outcome }) => outcome)), new Set(['PASS']));
    },
  );

test('a volume of a driver lives its whole life behind a gateway', { skip: noRoot }, async t => {
  const dir = directoryOf(t);
  await startBridged(t, dir);
  const demo = [cli, 'demo', '--dir', join(dir, 'own')];
  const { status, stdout, stderr } = await exec(process.execPath, demo, { timeoutMs: 120_000 });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /nothing is left behind/);
  assert.deepEqual([mountsBelow(dir), loopDevicesOf(dir)], [[], []]);
});
