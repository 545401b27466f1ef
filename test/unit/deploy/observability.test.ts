import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { chart } from '../../../deploy/render.ts';
import { exportedMetrics } from './exported.ts';

/** The metrics that a file names, without what a histogram adds. */
function metricsIn(path: string): readonly string[] {
  const names = readFileSync(path, 'utf8').match(/\b(fairlead_(gateway|controller|node)|process)_\w+/g) ?? [];
  return names.map(name => name.replace(/_(bucket|sum|count)$/, ''));
}

test('dashboards ask for metrics that the programs export, and for no others', async t => {
  const exported = await exportedMetrics(t);
  const files = globSync(`${chart}/dashboards/*.json`);
  const asked = files.flatMap(metricsIn);
  assert.ok(asked.length > 20);
  assert.deepEqual(
    asked.filter(name => !exported.has(name)),
    [],
  );
});
