import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findTests, scriptsFor } from '../tiers.ts';

test('a unit test fetches nothing, unless it renders the chart or tries its alerts', () => {
  assert.deepEqual(scriptsFor(['test/unit/structure.test.ts']), []);
  assert.deepEqual(scriptsFor(['test/unit/deploy/chart.test.ts']), ['deploy/fetch-helm.sh']);
  assert.deepEqual(scriptsFor(findTests(['unit'])).toSorted(), [
    'deploy/fetch-helm.sh',
    'deploy/fetch-promtool.sh',
  ]);
});

test('a test of this machine that renders the chart has Helm, too', () => {
  assert.deepEqual(scriptsFor(['test/machine/deploy/guide.test.ts']), [
    'deploy/install-tools.sh',
    'deploy/fetch-helm.sh',
  ]);
});
