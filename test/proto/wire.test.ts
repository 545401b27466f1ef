import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { normalForm } from './normal-form.ts';

const protoDir = join(import.meta.dirname, '..', '..', 'proto');
const moduleDir = join(import.meta.dirname, 'wire');

test('on the wire, our protocols are the official ones', async t => {
  const missing = whatIsMissing();
  if (missing !== undefined) return t.skip(missing);
  const official = readOfficial();
  for (const [file, packageName] of [
    ['csi.proto', 'csi.v1'],
    ['pluginregistration.proto', 'pluginregistration'],
  ] as const) {
    await t.test(`${file} says what the official package ${packageName} says`, () => {
      assert.deepEqual(normalForm(join(protoDir, file), packageName), official[packageName]);
    });
  }
});

/** No Go, or no way to fetch modules. Anything else that is wrong is left to fail when the program is built. */
const whatIsMissing = () => {
  const version = go('version');
  if (version.status !== 0) return `this needs Go 1.26 or newer: ${reason(version)}`;
  const download = go('mod', 'download');
  if (download.status === 0 || isTampering(download) || isBadModuleFile()) return undefined;
  return `this needs Go modules that cannot be fetched: ${reason(download)}`;
};

const isTampering = (download: SpawnSyncReturns<string>) => download.stderr.includes('SECURITY ERROR');

const isBadModuleFile = () => go('mod', 'edit', '-json').status !== 0;

const readOfficial = (): Record<string, unknown> => {
  const work = mkdtempSync(join(tmpdir(), 'fairlead-wire-'));
  try {
    const program = join(work, 'wire');
    succeed(go('build', '-buildvcs=false', '-o', program, '.'));
    return JSON.parse(succeed(spawnSync(program, { encoding: 'utf8', maxBuffer: 1e8 })));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

const succeed = (run: SpawnSyncReturns<string>) => {
  assert.equal(run.status, 0, reason(run));
  return run.stdout;
};

const go = (...args: string[]) =>
  spawnSync('go', args, {
    cwd: moduleDir,
    encoding: 'utf8',
    env: { ...process.env, GOFLAGS: '', GOWORK: 'off' },
  });

const reason = (run: SpawnSyncReturns<string>) => run.error?.message ?? run.stderr.trim();
