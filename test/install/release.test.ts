import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { ownArchitecture } from '../../deploy/image/architectures.ts';
import { sizeOf } from '../../deploy/image/files.ts';
import { version } from '../../src/lib/version.ts';
import { openNpm, type Npm } from '../fakes/registry.ts';
import { fetchPackage } from '../harness/fetched/npm-package.ts';
import { directoryOf, makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** The maximum size of the installed package, with its dependencies. */
const maxInstalledBytes = 25e6;
/** Releases of Node.js that run the package's commands. */
const olderNodes = ['22.23.3', '24.21.0'];

void suite('npm run release', () => {
  const out = makeTemporaryDirectory();
  const published = join(out, `fairlead-${version}.tgz`);
  let output = '';
  let notices = '';
  before(() => {
    const argv = ['deploy/release/main.ts', '--without-image', '--arch', ownArchitecture, '--out', out];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    [output, notices] = [stdout, stderr];
  });
  after(() => removeTemporaryDirectory(out));

  void test('names each step at its start', () => {
    const steps = notices.split('\n').filter(line => /^\d of \d: /.test(line));
    assert.deepEqual(steps, [
      '1 of 3: the bundle of JavaScript',
      '2 of 3: the types',
      '3 of 3: the npm package',
      `1 of 2: the Debian package for ${ownArchitecture}`,
      '2 of 2: the chart',
    ]);
  });

  void test('lists its files, all of one version, with their checksums', () => {
    const names = [...output.matchAll(/^.*\/(\S+): \d+ bytes$/gm)].map(([, name = '']) => name);
    const [debian = ''] = globSync('*.deb', { cwd: out });
    const documents = ['openapi.json', 'vendor-openapi.json'];
    const packages = [`fairlead-${version}.tgz`, `fairlead-chart-${version}.tgz`, debian];
    assert.deepEqual(names.toSorted(), [...packages, ...documents, 'SHA256SUMS'].toSorted());
    assert.match(debian, new RegExp(String.raw`^fairlead_${version}_\w+\.deb$`));
    const sums = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: out, encoding: 'utf8' });
    assert.equal(sums.match(/: OK$/gm)?.length, names.length - 1);
    const chart = ['--extract', '--to-stdout', '--file', join(out, `fairlead-chart-${version}.tgz`)];
    assert.match(
      execFileSync('tar', [...chart, 'fairlead/Chart.yaml'], { encoding: 'utf8' }),
      new RegExp(`^appVersion: ${version}$`, 'm'),
    );
    const document = JSON.parse(readFileSync(join(out, 'openapi.json'), 'utf8')) as {
      info: { version: string };
    };
    assert.equal(document.info.version, version);
  });

  void test('npm install --global adds the command, small and quick to start', async t => {
    const { home, fairlead } = await installGlobally(t, await openNpm(t), published);
    assert.equal(execFileSync(fairlead, ['--version'], { encoding: 'utf8' }), `${version}\n`);
    const bytes = sizeOf(home);
    t.diagnostic(`${(bytes / 1e6).toFixed(1)} MB installed`);
    assert.ok(bytes <= maxInstalledBytes, `${bytes} bytes are installed`);
    const entry = join(home, 'lib/node_modules/fairlead/lib/fairlead.mjs');
    // The least of several runs, because other tests run at the same time.
    const rounds = Array.from({ length: 7 }, () => [timeOf(['-e', '0']), timeOf([entry, '--help'])] as const);
    const bare = Math.min(...rounds.map(([ms]) => ms));
    const help = Math.min(...rounds.map(([, ms]) => ms));
    t.diagnostic(`--help takes ${help.toFixed(0)} ms, and Node.js alone ${bare.toFixed(0)} ms`);
  });

  for (const release of olderNodes) {
    const node = fetchNode(release);
    const skip = node === undefined && `npm cannot fetch Node.js ${release}`;
    void test(`the package's commands run on Node.js ${release}`, { skip }, async t => {
      if (node === undefined) return;
      const npm = await openNpm(t);
      const { home, fairlead } = await installGlobally(t, npm, published);
      const run = (...argv: readonly string[]): string =>
        execFileSync(node, [fairlead, ...argv], {
          encoding: 'utf8',
          env: { PATH: '/usr/bin:/bin', HOME: home },
        });
      const keys = join(home, 'keys');
      run('enroll', 'operators', '--dir', keys);
      const config = join(keys, 'gateway.yaml');
      writeFileSync(
        config,
        'pools: { a: { backend: memory } }\nclusters: {}\noperators: { keys: operators.jwks.json }\n',
      );
      const settings = ['--listen', '127.0.0.1:0', '--store', join(home, 'store.sqlite'), '--config', config];
      const gateway = spawn(process.execPath, [fairlead, 'gateway', ...settings], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      });
      const ended = once(gateway, 'exit');
      t.after(async () => {
        gateway.kill();
        await ended;
      });
      const [{ ready }] = (await once(gateway, 'message')) as [
        { readonly ready: { readonly gateway: string } },
      ];
      const access = ['--gateway', ready.gateway, '--key-file', join(keys, 'operators.key.json')];
      assert.match(run('get', 'pools', ...access), /^a +memory/m);
      const refused = spawnSync(node, [fairlead, 'gateway', ...settings], { encoding: 'utf8' });
      assert.equal(refused.status, 1);
      assert.match(
        refused.stderr,
        new RegExp(
          `^fairlead: gateway needs Node 26, .*node@${packageJson.dependencies.node} .*fairlead gateway\n$`,
        ),
      );

      const project = join(home, 'project');
      mkdirSync(project);
      await npm.run(project, 'install', published);
      const libraries =
        "Promise.all(['backend', 'testing', 'vendor'].map(name => import(`fairlead/${name}`)))";
      const script = `const [b, t, v] = await ${libraries}; console.log(b.Problem.name, t.testBackend.name, v.createVendor.name)`;
      const names = execFileSync(node, ['--input-type=module', '--eval', script], {
        cwd: project,
        encoding: 'utf8',
      });
      assert.equal(names, 'Problem testBackend createVendor\n');
    });
  }
});

/** Installs the package as `npm install --global` does, below a directory of its own. */
async function installGlobally(t: Parameters<typeof openNpm>[0], npm: Npm, file: string) {
  const home = directoryOf(t);
  await npm.run(home, 'install', '--global', '--prefix', home, file);
  return { home, fairlead: join(home, 'bin/fairlead') };
}

/** Fetches a release of Node.js, once; returns its program, or undefined if there is none. */
function fetchNode(release: string): string | undefined {
  const name = `node-linux-${process.arch}`;
  const directory = fetchPackage(`${name}@${release}`, `fairlead-node-${release}`);
  return directory === undefined ? undefined : join(directory, 'bin/node');
}

/** Runs Node.js and returns its time in milliseconds. */
function timeOf(argv: readonly string[]): number {
  const start = performance.now();
  assert.equal(spawnSync(process.execPath, argv, { stdio: 'ignore' }).status, 0);
  return performance.now() - start;
}
