import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, existsSync, globSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { home, nodeCommand, runtime, user } from '../../deploy/image/contents.ts';
import { walk } from '../../deploy/image/files.ts';
import { connectCsi } from '../../src/csi/client.ts';
import { devCluster, enroll } from '../../src/dev/dev.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { version } from '../../src/lib/version.ts';
import { makeTemporaryDirectory, noRoot, removeTemporaryDirectory } from '../harness/machine.ts';
import { runInImage, startInImage, unpackImage, type ImageConfig } from './container.ts';

const tools = ['apt-get', 'dpkg-deb', 'readelf', 'strip', 'tar', 'chroot', 'unshare'];
const missing = tools.filter(tool => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0);
const skip = noRoot || (missing.length > 0 && `an image is built with ${missing.join(', ')}`);
const builder = fileURLToPath(new URL('../../deploy/image/build.ts', import.meta.url));

/** Builds the image and returns its digest; fails if it is too large. */
function build(out: string): string {
  const output = execFileSync(process.execPath, [builder, '--out', out], { encoding: 'utf8' });
  return /@(sha256:[0-9a-f]{64})$/m.exec(output)?.[1] ?? '';
}

void suite('an image', { skip }, () => {
  let dir = '';
  let digest = '';
  let config: ImageConfig | undefined;
  const rootOf = () => join(dir, 'root');
  const optionsFor = (uid: number, directory: string) => ({
    root: rootOf(),
    user: uid,
    directory,
    environment: config?.config.Env ?? [],
  });

  before(() => {
    dir = makeTemporaryDirectory();
    digest = build(join(dir, 'first'));
    config = unpackImage(join(dir, `first/fairlead-${version}.tar`), rootOf());
  });
  after(() => removeTemporaryDirectory(dir));

  void test('is identical, byte for byte, when it is built again', () => {
    assert.match(digest, /^sha256:/);
    assert.equal(build(join(dir, 'second')), digest);
  });

  void test('runs as a user without privileges, and contains nothing that grants any', () => {
    assert.equal(config?.config.User, '65532:65532');
    const entries = walk(rootOf()).map(path => ({ path, entry: lstatSync(path) }));
    const privileged = entries.filter(({ entry }) => !entry.isSymbolicLink() && (entry.mode & 0o6000) !== 0);
    assert.deepEqual(privileged, []);
    const writable = entries.filter(
      ({ path, entry }) =>
        !entry.isSymbolicLink() && (entry.mode & 0o022) !== 0 && path !== join(rootOf(), 'tmp'),
    );
    assert.deepEqual(writable, []);
    const owned = entries.filter(({ entry }) => entry.uid !== 0).map(({ path }) => path);
    assert.deepEqual(owned, [join(rootOf(), 'var/lib/fairlead')]);
  });

  void test('has every command that the programs and the chart start', () => {
    const commands = commandsOf(
      globSync(['{gateway,node-agent,src}/**/*.ts', 'deploy/chart/templates/**/*.{yaml,tpl}']),
    );
    for (const one of ['mkfs.xfs', 'iscsiadm', 'mount.nfs', 'install']) assert.ok(commands.has(one), one);
    const folders = ['usr/local/bin', 'usr/bin', 'usr/sbin'];
    // Gateways of a hypervisor, of LVM, of ZFS, of an NFS server and of a Ceph cluster do not run in a container.
    for (const one of ['virsh', 'lvm', 'zfs', 'zpool', 'udevadm', 'exportfs']) commands.delete(one);
    const absent = [...commands].filter(
      command => !folders.some(folder => isThere(join(rootOf(), folder, command))),
    );
    assert.deepEqual(absent, []);
  });

  void test('has the packages that Fairlead needs or may use, and none that only its development needs', () => {
    const { optionalDependencies } = packageJson;
    const packages = join(rootOf(), home, 'node_modules');
    for (const name of Object.keys(optionalDependencies)) assert.ok(existsSync(join(packages, name)), name);
    const ofDevelopment = ['@types', 'esbuild', 'oxlint', 'typescript', 'workerd'];
    for (const name of ofDevelopment) assert.ok(!existsSync(join(packages, name)), name);
  });

  void test('has every library of its programs', () => {
    const programs = globSync(`${rootOf()}/usr/{bin,sbin,local/bin}/*`);
    for (const program of programs) {
      const inside = program.slice(rootOf().length);
      const loader = ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1'].find(path =>
        existsSync(join(rootOf(), path)),
      );
      const { stdout } = spawnSync('chroot', [rootOf(), loader ?? '', '--list', inside], {
        encoding: 'utf8',
      });
      assert.doesNotMatch(stdout, /not found/, inside);
    }
  });

  void test('starts no program that strips TypeScript, for any user', () => {
    const telling = `process.on('exit',()=>process._rawDebug(process.moduleLoadList.some(name=>name.includes('amaro'))))`;
    const listening = `NODE_OPTIONS=--import=data:text/javascript,${encodeURIComponent(telling)}`;
    for (const [uid, program] of [
      [0, 'node'],
      [user, 'controller'],
      [user, 'gateway'],
      [1000, 'gateway'],
    ] as const) {
      const options = { ...optionsFor(uid, dir), environment: [...runtime.Env, listening] };
      const output = runInImage(options, ['sh', '-c', `fairlead ${program} --help 2>&1`]);
      assert.match(output, /Settings[^]*\nfalse\n$/, program);
    }
  });

  void test('compiles for no particular processor: its cache works on every x86-64-v2', () => {
    const [features = ''] = runInImage(optionsFor(0, dir), [...nodeCommand, '--v8-options']).split('\n', 1);
    const used = [...features.matchAll(/(\w+)=1/g)].map(([, name]) => name);
    if (process.arch === 'x64')
      assert.deepEqual(used, ['SSE3', 'SSSE3', 'SSE4_1', 'SSE4_2', 'SAHF', 'POPCNT']);
  });

  for (const fs of ['ext4', 'xfs', 'btrfs'])
    void test(`runs a volume's whole life with ${fs} on a read-only root`, () => {
      const directory = join(dir, `demo-${fs}`);
      mkdirSync(directory);
      assert.match(runInImage(optionsFor(0, directory), ['fairlead', 'demo', '--fs', fs]), /Proved/);
    });

  void test('serves as an unprivileged gateway and controller, and as a node agent', async t => {
    const directory = join(dir, 'trio');
    mkdirSync(join(directory, 'kubelet'), { recursive: true });
    const pool = { backend: 'image', dir: join(directory, 'images') };
    const { configFile, keyFile } = await enroll(directory, { pool });
    mkdirSync(pool.dir, { recursive: true });
    for (const path of [directory, ...walk(directory)]) chownSync(path, user, user);
    const start = (uid: number, program: string, settings: Readonly<Record<string, string>>) =>
      startInImage(t, optionsFor(uid, directory), [
        ...(config?.config.Entrypoint ?? []),
        program,
        ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
      ]);
    const store = join(directory, 'store.sqlite');
    const { gateway = '' } = await start(user, 'gateway', {
      listen: '127.0.0.1:0',
      store,
      config: configFile,
    });
    const cluster = { cluster: devCluster, 'key-file': keyFile, gateway };
    await start(user, 'controller', { ...cluster, endpoint: join(directory, 'controller.sock') });
    await start(0, 'node', {
      endpoint: join(directory, 'node.sock'),
      'node-id': 'n1',
      'state-dir': join(directory, 'state'),
      'kubelet-dir': join(directory, 'kubelet'),
    });
    const [controller, node] = ['controller', 'node'].map(name =>
      connectCsi(`unix://${directory}/${name}.sock`),
    );
    t.after(() => [controller, node].forEach(client => client?.close()));
    assert.deepEqual(await controller?.identity.Probe({}), { ready: { value: true } });
    assert.match((await node?.node.NodeGetInfo({}))?.node_id ?? '', /^n1~/);
    const answer = await controller?.controller.ListVolumes({});
    assert.deepEqual(answer?.entries, []);
  });

  void test('lists its contents', () => {
    const inside = readFileSync(join(rootOf(), 'usr/share/sbom/fairlead.cdx.json'), 'utf8');
    assert.equal(inside, readFileSync(join(dir, `first/fairlead-${version}.cdx.json`), 'utf8'));
    const { components } = JSON.parse(inside) as { components: readonly { purl: string }[] };
    const purls = components.map(({ purl }) => purl);
    for (const one of ['pkg:npm/zod@', 'pkg:npm/node@', 'pkg:deb/debian/libc6@', 'pkg:deb/debian/e2fsprogs@'])
      assert.ok(
        purls.some(purl => purl.startsWith(one)),
        one,
      );
    for (const name of globSync(`${rootOf()}/var/lib/dpkg/status.d/*`)) {
      const copyright = name.replace('var/lib/dpkg/status.d', 'usr/share/doc');
      assert.ok(existsSync(`${copyright}/copyright`), name);
    }
    assert.equal(config?.config.Labels['org.opencontainers.image.version'], version);
  });
});

void test('built from the Dockerfile, runs like the one that is built without Docker', () => {
  const lines = readFileSync(new URL('../../deploy/image/Dockerfile', import.meta.url), 'utf8').split('\n');
  for (const line of [
    ...runtime.Env.map(one => `ENV ${one}`),
    `USER ${runtime.User}`,
    `ENTRYPOINT ${JSON.stringify(runtime.Entrypoint)}`,
  ])
    assert.ok(lines.includes(line), line);
});

/** Returns true for a link as well, even if its target exists only in the image. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Finds the names of all commands that the source starts or looks for. */
function commandsOf(files: readonly string[]): Set<string> {
  const forms = [
    /\bcommand: '([\w.]+)'/g,
    /(?<!\.)\b(?:exec|spawn|spawnSync|host\.run)\(\s*'([\w.]+)'/g,
    /\btool: '([\w.]+)'/g,
    /\bcommand: \["?([\w.]+)/g,
    /\bbaseTools = \[([^\]]*)\]/g,
  ];
  const found = files
    .map(file => readFileSync(file, 'utf8'))
    .flatMap(text => forms.flatMap(form => [...text.matchAll(form)].map(([, names = '']) => names)));
  return new Set(found.flatMap(names => (names.includes("'") ? (names.match(/[\w.]{2,}/g) ?? []) : [names])));
}
