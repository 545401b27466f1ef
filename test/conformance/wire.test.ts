import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { go, whyNotBuildable } from './go.ts';
import { normalForm } from './normal-form.ts';

const moduleDir = join(import.meta.dirname, 'wire');

test('our protocols match the official ones on the wire', async t => {
  const missing = whyNotBuildable(moduleDir);
  if (missing !== undefined) return t.skip(missing);
  const official = readOfficial();
  for (const [file, packageName] of [
    ['csi.proto', 'csi.v1'],
    ['pluginregistration.proto', 'pluginregistration'],
  ] as const) {
    await t.test(`${file} matches the official package ${packageName}`, () => {
      assert.deepEqual(normalForm(file, packageName), official[packageName]);
    });
  }
});

const readOfficial = (): Record<string, unknown> => {
  const work = mkdtempSync(join(tmpdir(), 'fairlead-wire-'));
  try {
    const program = join(work, 'wire');
    succeed(go(moduleDir, 'build', '-buildvcs=false', '-o', program, '.'));
    return JSON.parse(succeed(spawnSync(program, { encoding: 'utf8', maxBuffer: 1e8 })));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

const succeed = (run: SpawnSyncReturns<string>) => {
  assert.equal(run.status, 0, run.error?.message ?? run.stderr);
  return run.stdout;
};
