// Runs inside the sandbox of Ceph: Cinder and Keystone with PostgreSQL and RabbitMQ, and the kit on examples/cinder.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adapter, startCinder } from '../../cinder/cinder.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { directoryOf } from '../../harness/machine.ts';
import { seed } from '../../harness/sample.ts';

test('the kit finds nothing, lost answers and restarts included', async t => {
  const env = await startCinder(t, directoryOf(t));
  const report = await runKit(t, { command: adapter, seed, env, timeoutMs: 120_000 });
  const faults = report.results.filter(({ failure }) => failure);
  assert.deepEqual(
    faults.map(({ id, failure }) => [id, failure]),
    [],
  );
  assert.deepEqual(report.left, []);
});
