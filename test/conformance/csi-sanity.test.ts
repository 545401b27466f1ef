import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { advertisable } from '../../src/csi/identity.ts';
import { filesBelow, referenceVendors, startVendor } from '../fakes/storages/reference.ts';
import { startBridged } from '../fakes/storages/bridged.ts';
import { clientOf } from '../harness/csi-serving.ts';
import { startDev } from '../harness/dev.ts';
import { buildTools, whyNotBuildable } from './go.ts';
import { assertSane, endpointsOf } from './sanity.ts';
import { sample } from '../harness/sample.ts';
import { startTrio } from '../harness/trio.ts';
import { directoryOf, loopDevicesOf, mountsBelow, noRoot } from '../harness/machine.ts';

const here = import.meta.dirname;
const dir = directoryOf({ after });

const skip = noRoot || (whyNotBuildable(here) ?? false);
before(() => {
  if (skip === false) buildTools(here, dir);
});

type Run = {
  readonly title: string;
  readonly skip?: string | false;
  readonly run: (t: TestContext) => Promise<void>;
};

const runs: readonly Run[] = [
  { title: 'with block volumes', run: t => overDev(t, 'block') },
  { title: 'with shared directories', run: overDirectories },
  { title: 'if nodes, volumes and snapshots have a topology', run: overPlaced },
  ...referenceVendors.map(({ language, command, skip: noVendor }) => ({
    title: `over a storage vendor in ${language}`,
    skip: noVendor,
    run: (t: TestContext) => overVendor(t, { language, command }),
  })),
  { title: 'if the controller calls a vendor directly', run: withoutGateway },
  ...['mount', 'block'].map(accessType => ({
    title: `over another driver with ${accessType} volumes`,
    run: (t: TestContext) => overDriver(t, accessType),
  })),
];

for (const { title, skip: why = false, run } of [
  { title: 'with mount volumes', run: (t: TestContext) => overDev(t, 'mount') },
  ...sample<Run>('runs', runs, 2),
])
  test(`csi-sanity finds no failure ${title}`, { skip: skip || why }, run);

async function overDev(t: TestContext, accessType: string): Promise<void> {
  const base = join(dir, accessType);
  mkdirSync(join(base, 'work'), { recursive: true });
  const dev = await startDev(t, {
    dir: join(base, 'dev'),
    'node-id': 'sanity-node',
    'kubelet-dir': join(base, 'work'),
  });
  try {
    assertSane(t, { tools: dir, base, work: join(base, 'work'), accessType, ...dev });
  } finally {
    await dev.end();
  }
  assert.deepEqual(mountsBelow(base), []);
  assert.deepEqual(loopDevicesOf(base), []);
}

async function overDirectories(t: TestContext): Promise<void> {
  const base = join(dir, 'shared');
  const root = join(base, 'volumes');
  mkdirSync(root, { recursive: true });
  const pool = { backend: 'dir', dir: root, capacity: '1Ti' };
  const trio = await startTrio(t, { dir: base, pool, nodeNames: ['sanity-node'] });
  assertSane(t, { tools: dir, base, ...endpointsOf(trio), accessType: 'mount' });
  assert.deepEqual(mountsBelow(base), []);
  // Names that begin with a dot belong to the backend.
  const volumes = readdirSync(root).filter(name => !name.startsWith('.'));
  assert.deepEqual([volumes, readdirSync(join(root, '.trash'))], [[], []]);
}

async function overPlaced(t: TestContext): Promise<void> {
  const base = join(dir, 'placed');
  const images = join(base, 'images');
  mkdirSync(images, { recursive: true });
  const topology = { 'csi.fairlead.dev/zone': 'a' };
  const pool = { backend: 'image', dir: images, capacity: '1Ti', topology };
  const trio = await startTrio(t, {
    dir: base,
    pool,
    nodeNames: ['sanity-node'],
    topology,
    // The images of two volumes cannot be copied at one instant.
    advertised: advertisable.filter(word => word !== 'group-snapshots'),
  });
  // This spec compares Go messages together with their internal state, which differs between a sent and a received
  // message; a test of `fairlead dev` covers its subject.
  const leaveAside = 'snapshot with accessibility requirements';
  assertSane(t, { tools: dir, base, ...endpointsOf(trio), accessType: 'mount', leaveAside });
  assert.deepEqual(mountsBelow(base), []);
  assert.deepEqual(loopDevicesOf(base), []);
}

type Vendor = Pick<(typeof referenceVendors)[number], 'language' | 'command'>;

async function overVendor(t: TestContext, { language, command }: Vendor): Promise<void> {
  const base = join(dir, `vendor-${language}`);
  mkdirSync(base);
  const { url, token, directory } = await startVendor(t, { command, env: { CAPACITY: `${2 ** 40}` } });
  writeFileSync(join(base, 'token'), token);
  const pool = { backend: 'rest', url, token: 'token', ...filesBelow(directory) };
  const advertised = language === 'python' ? ['group-snapshots', 'changed-blocks'] : [];
  const nodeNames = ['sanity-node'];
  const trio = await startTrio(t, { dir: base, pool, nodeNames, localRoot: directory, advertised });
  assertSane(t, { tools: dir, base, ...endpointsOf(trio), accessType: 'mount' });
  const headers = { authorization: `Bearer ${token}` };
  for (const kind of ['volumes', 'snapshots']) {
    const answer = await fetch(`${url}/v1/${kind}`, { headers });
    assert.deepEqual(await answer.json(), { [kind]: [] });
  }
  assert.deepEqual([mountsBelow(base), loopDevicesOf(directory)], [[], []]);
}

async function withoutGateway(t: TestContext): Promise<void> {
  const base = join(dir, 'straight');
  const localRoot = join(base, 'images');
  mkdirSync(localRoot, { recursive: true });
  const storage = async (JWKS: string): Promise<string> => {
    const own = { DIR: localRoot, CAPACITY: `${2 ** 40}`, JWKS, AUDIENCE: 'fairlead' };
    return (await startVendor(t, { env: own })).url;
  };
  const trio = await startTrio(t, { dir: base, storage, nodeNames: ['sanity-node'], localRoot });
  // A storage that does not track its nodes cannot know that a node does not exist.
  const leaveAside = 'should fail when the node does not exist';
  assertSane(t, { tools: dir, base, ...endpointsOf(trio), accessType: 'mount', leaveAside });
  assert.deepEqual([mountsBelow(base), loopDevicesOf(base)], [[], []]);
}

async function overDriver(t: TestContext, accessType: string): Promise<void> {
  const base = join(dir, `driver-${accessType}`);
  const work = join(base, 'work');
  mkdirSync(work, { recursive: true });
  const { driver, ...own } = await startBridged(t, base, {
    flags: { 'node-id': 'sanity-node', 'kubelet-dir': work },
  });
  assertSane(t, { tools: dir, base, work, accessType, ...own });
  const left = await clientOf(t, driver.controller).controller.ListVolumes({});
  assert.deepEqual([left.entries, mountsBelow(base), loopDevicesOf(base)], [[], [], []]);
}
