import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { commands } from '../../../src/cli/commands.ts';
import { listCommands } from '../../../src/cli/run.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { version } from '../../../src/lib/version.ts';
import { findHelm, renderChart } from '../../../deploy/render.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { cli } from '../../harness/program.ts';

type Compose = {
  readonly services: Readonly<
    Record<string, { readonly image: string; readonly command?: readonly string[] }>
  >;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
};

const { services, configs } = parse(readFileSync('deploy/compose.yaml', 'utf8')) as Compose;

test('deploy/compose.yaml uses the image of this version, and settings that exist', async () => {
  const known = await listCommands({ path: 'fairlead', commands });
  const own = Object.values(services).filter(({ image }) => image.startsWith('fairlead:'));
  assert.deepEqual(new Set(own.map(({ image }) => image)), new Set([`fairlead:${version}`]));
  for (const name of ['gateway', 'client']) {
    const words = services[name]?.command ?? [];
    const path = ['fairlead', ...words.filter(word => !word.startsWith('--'))].join(' ');
    const found = known.find(one => one.path === path);
    assert.ok(found, path);
    const argv = words.filter(word => word.startsWith('--'));
    const { values, faults } = readSettings(found.command.settings, { argv, env: {} });
    assert.ok(values, String(faults));
  }
});

function read(path: string): unknown {
  return parse(readFileSync(path, 'utf8'));
}

test('the chart, the lock file, the example of a backend and the list of changes name this version', () => {
  assert.partialDeepStrictEqual(read('deploy/chart/Chart.yaml'), { version, appVersion: version });
  assert.partialDeepStrictEqual(read('package-lock.json'), { version, packages: { '': { version } } });
  assert.partialDeepStrictEqual(read('examples/backend-package/package.json'), {
    peerDependencies: { fairlead: `^${version}` },
  });
  assert.match(readFileSync('CHANGELOG.md', 'utf8'), new RegExp(`^## ${RegExp.escape(version)}$`, 'm'));
});

test('the configuration in deploy/compose.yaml has no fault, with the keys that its first service makes', t => {
  const dir = temporaryDirectory(t);
  for (const [, name = ''] of services['keys']?.command?.[0]?.matchAll(/fairlead enroll (\w+)/g) ?? [])
    run('enroll', name, '--dir', dir);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, configs['gateway']?.content ?? '');
  const output = run('gateway', '--check', '--config', config, '--store', join(dir, 'store.sqlite'));
  assert.match(output, /^configuration: ok\nkeys: ok$/m);
});

test('deploy/quickstart.sh is a script, and its values give the gateway and the class that its pod uses', async t => {
  execFileSync('sh', ['-n', 'deploy/quickstart.sh']);
  const helm = findHelm();
  if (helm === undefined) return t.skip('Helm is not there');
  const own = readFileSync('deploy/values/quickstart.yaml', 'utf8').replace(
    /^gateway:$/m,
    'gateway:\n  node: box',
  );
  const keys = 'clusters: {fairlead: {keySet: {keys: [{kty: OKP, crv: Ed25519, kid: k, x: AA}]}}}';
  const manifests = await renderChart(
    helm,
    `cluster: {name: fairlead}\n${own.replace(/^ {2}enabled: true$/m, `  enabled: true\n  ${keys}`)}`,
  );
  assert.match(manifests, /^kind: StatefulSet$/m);
  assert.match(manifests, /^kind: StorageClass\nmetadata:\n {2}name: fairlead$/m);
  return undefined;
});

function run(...argv: readonly string[]): string {
  return execFileSync(process.execPath, [cli, ...argv], { encoding: 'utf8' });
}
