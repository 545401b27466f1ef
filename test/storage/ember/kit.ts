// Runs inside the sandbox of Ceph: ember-csi, and the kit on a bridge over it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startEmber } from '../../ember/ember.ts';
import { bridgeCommand } from '../../fakes/storages/bridged.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { directoryOf } from '../../harness/machine.ts';
import { seed } from '../../harness/sample.ts';

test('a bridge over ember-csi', async t => {
  const env = await startEmber(t, directoryOf(t));
  const report = await runKit(t, { command: bridgeCommand, seed, env, timeoutMs: 120_000 });
  const faults = report.results.filter(({ failure }) => failure);
  assert.deepEqual(
    faults.map(({ id, failure }) => [id, failure?.expected]),
    [],
  );
  assert.deepEqual(report.left, []);
});
