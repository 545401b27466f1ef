import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { buildPackage } from '../../deploy/release/package.ts';
import { commands } from '../../src/cli/commands.ts';
import { version } from '../../src/lib/version.ts';
import { openNpm } from '../fakes/registry.ts';
import { clientOf } from '../harness/csi-serving.ts';
import { startDev } from '../harness/dev.ts';
import { directoryOf, makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';

const out = makeTemporaryDirectory();
const fairlead = join(out, `fairlead-${version}.tgz`);
const tsc = resolve('node_modules/.bin/tsc');

before(() => buildPackage(out));
after(() => removeTemporaryDirectory(out));

test('a backend in a separate package passes the suite, is packed, and holds the volumes of a pool', async t => {
  const dir = directoryOf(t);
  const npm = await openNpm(t);

  const author = join(dir, 'author');
  cpSync('examples/backend-package', author, { recursive: true });
  await npm.run(author, 'install', '--no-save', fairlead);
  assert.match(await npm.run(author, 'test'), /^. fail 0$/m);
  assert.equal(checkTypes(author, backendFiles), '');
  breakTypes(join(author, 'backend.js'));
  assert.match(checkTypes(author, backendFiles), /'"EVERYBODY"' is not assignable/);
  cpSync('examples/backend-package/backend.js', join(author, 'backend.js'));
  const acme = join(author, (await npm.run(author, 'pack', '--silent')).trim());

  const user = join(dir, 'user');
  mkdirSync(user);
  writeFileSync(join(user, 'package.json'), '{ "private": true }');
  await npm.run(user, 'install', fairlead, acme);
  assert.equal(await npm.run(user, 'exec', '--', 'fairlead', '--version'), `${version}\n`);
  const volumes = join(dir, 'volumes');
  const config = join(user, 'gateway.yaml');
  writeFileSync(config, `pools: { acme: { backend: "@acme/fairlead-backend", dir: ${volumes} } }`);
  await createVolume(
    t,
    { dir: join(user, 'dev'), config },
    join(user, 'node_modules/fairlead/lib/fairlead.mjs'),
  );
  assert.ok(existsSync(join(volumes, 'dev.first.img')));
});

test('the package has a manual page for each command, which npm installs', () => {
  const root = join(out, 'package');
  const { man } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { man: readonly string[] };
  assert.deepEqual(
    man,
    ['fairlead', ...Object.keys(commands).map(name => `fairlead-${name}`)].map(name => `./man/${name}.1`),
  );
  for (const path of man) assert.match(readFileSync(join(root, path), 'utf8'), /^\.TH FAIRLEAD/m, path);
});

test('every link in the texts of the package leads to a file in it', () => {
  const root = join(out, 'package');
  const texts = globSync('{*,examples/**/*}.md', { cwd: root });
  assert.ok(texts.length > 4);
  const dead = texts.flatMap(path =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/\]\(([^)]+)\)/g)]
      .map(([, target = '']) => target)
      .filter(target => !target.startsWith('https:') && !existsSync(join(root, dirname(path), target)))
      .map(target => `${path}: ${target}`),
  );
  assert.deepEqual(dead, []);
});

for (const { source, published, packages } of [
  { source: 'the registry', published: { fairlead: join(out, 'package') }, packages: [] },
  { source: 'a file in the project', published: {}, packages: [`./${basename(fairlead)}`] },
])
  test(`a vendor's project that installs the release from ${source} installs on other machines`, async t => {
    const dir = directoryOf(t);
    const npm = await openNpm(t, published);
    const made = join(dir, 'made');
    execFileSync(process.execPath, [join(out, 'package/lib/fairlead.mjs'), 'init', 'vendor', made]);
    if (packages.length > 0) cpSync(fairlead, join(made, basename(fairlead)));
    await npm.run(made, 'install', ...packages);
    // Another machine has the files that are committed, and nothing else.
    const acme = join(dir, 'acme');
    cpSync(made, acme, { recursive: true, filter: path => basename(path) !== 'node_modules' });
    rmSync(made, { recursive: true });
    await npm.run(acme, 'ci');
    const only = ['--only', 'FL-3.1-1,FL-8.4-1'];
    assert.match(await npm.run(acme, 'test', '--', ...only), /all checked requirements hold/);
    assert.equal(checkTypes(acme, ['main.ts']), '');
    const volumes = join(acme, 'volumes.ts');
    writeFileSync(volumes, readFileSync(volumes, 'utf8').replace("state: 'ready'", "state: 'available'"));
    assert.match(checkTypes(acme, ['main.ts']), /volumes\.ts.*"available"/);
  });

const backendFiles = ['backend.js', 'backend.test.js'];

/** Returns TypeScript's errors in the author's files. */
function checkTypes(directory: string, files: readonly string[]): string {
  const options = ['--noEmit', '--allowJs', '--checkJs', '--strict', '--skipLibCheck'];
  const modern = ['--module', 'nodenext', '--target', 'esnext'];
  const types = ['--types', 'node', '--typeRoots', resolve('node_modules/@types')];
  const written = files.some(file => file.endsWith('.ts')) ? ['--allowImportingTsExtensions'] : [];
  const { stdout } = spawnSync(tsc, [...options, ...modern, ...types, ...written, ...files], {
    cwd: directory,
    encoding: 'utf8',
  });
  return stdout;
}

function breakTypes(file: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replace('SINGLE_NODE_WRITER', 'EVERYBODY'));
}

async function createVolume(
  t: TestContext,
  settings: Readonly<Record<string, string>>,
  entry: string,
): Promise<void> {
  const { controller } = clientOf(t, (await startDev(t, settings, { entry })).controller);
  const access = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
  await controller.CreateVolume({ name: 'first', volume_capabilities: [access] });
}
