import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import type { Segments } from '../../src/api/topology.ts';
import { connectCsi } from '../../src/csi/client.ts';
import { advertisable } from '../../src/csi/identity.ts';
import { startDev } from '../harness/dev.ts';
import { buildTools, whatIsMissing } from '../harness/go.ts';
import { startTrio, type Trio } from '../harness/trio.ts';
import {
  loopDevicesOf,
  makeTemporaryDirectory,
  mountsBelow,
  noRoot,
  removeTemporaryDirectory,
} from '../harness/machine.ts';

const here = import.meta.dirname;
const dir = makeTemporaryDirectory();
after(() => removeTemporaryDirectory(dir));

const skip = noRoot || (whatIsMissing(here) ?? false);
before(() => {
  if (skip === false) buildTools(here, dir);
});

for (const accessType of ['mount', 'block']) {
  test(`csi-sanity finds no failure with ${accessType} volumes`, { skip }, t => runSanity(accessType, t));
}

async function runSanity(accessType: string, t: TestContext): Promise<void> {
  const base = join(dir, accessType);
  mkdirSync(join(base, 'work'), { recursive: true });
  const dev = await startDev({
    dir: join(base, 'dev'),
    'node-id': 'sanity-node',
    'kubelet-dir': join(base, 'work'),
  });
  try {
    assertSane(t, { base, work: join(base, 'work'), accessType, ...dev });
  } finally {
    await dev.end();
  }
  assert.deepEqual(mountsBelow(base), []);
  assert.deepEqual(loopDevicesOf(base), []);
}

test('csi-sanity finds no failure with shared directories', { skip }, async t => {
  const base = join(dir, 'shared');
  const root = join(base, 'volumes');
  mkdirSync(root, { recursive: true });
  const pool = { backend: 'dir', dir: root, capacity: '1Ti' };
  const trio = await startTrio(t, { dir: base, pool, nodeIds: ['sanity-node'] });
  assertSane(t, { base, ...endpointsOf(trio), accessType: 'mount' });
  assert.deepEqual(mountsBelow(base), []);
  // What begins with a dot is the backend's own.
  const volumes = readdirSync(root).filter(name => !name.startsWith('.'));
  assert.deepEqual([volumes, readdirSync(join(root, '.trash'))], [[], []]);
});

test('csi-sanity finds no failure where nodes, volumes and snapshots are in places', { skip }, async t => {
  const base = join(dir, 'placed');
  const images = join(base, 'images');
  mkdirSync(images, { recursive: true });
  const topology = { 'csi.fairlead.dev/zone': 'a' };
  const pool = { backend: 'image', dir: images, capacity: '1Ti', topology };
  const trio = await startTrio(t, {
    dir: base,
    pool,
    nodeIds: ['sanity-node'],
    topology,
    advertised: advertisable,
  });
  // It compares Go's messages with their bookkeeping, which differs between one that was sent and one that was received.
  const leaveAside = 'snapshot with accessibility requirements';
  assertSane(t, { base, ...endpointsOf(trio), accessType: 'mount', leaveAside });
  await snapshotWhereTheNodeIs(trio.controller, topology);
  assert.deepEqual(mountsBelow(base), []);
  assert.deepEqual(loopDevicesOf(base), []);
});

function endpointsOf({ controller, nodes }: Trio): Pick<Sanity, 'controller' | 'node' | 'work'> {
  const [node] = nodes;
  assert.ok(node);
  return { controller, node: node.endpoint, work: node.directory };
}

/** What the spec does that is left aside. */
async function snapshotWhereTheNodeIs(endpoint: string, segments: Segments): Promise<void> {
  const { controller, close } = connectCsi(endpoint);
  try {
    const access_mode = { mode: 'SINGLE_NODE_WRITER' } as const;
    const topology = { requisite: [{ segments }], preferred: [{ segments }] };
    const { volume } = await controller.CreateVolume({
      name: 'topology-volume',
      volume_capabilities: [{ mount: {}, access_mode }],
      accessibility_requirements: { requisite: topology.requisite },
    });
    const { snapshot } = await controller.CreateSnapshot({
      name: 'topology-snapshot',
      source_volume_id: volume?.volume_id ?? '',
      accessibility_requirements: topology,
    });
    assert.equal(snapshot?.accessible_topology.length, 1);
    for (const place of snapshot.accessible_topology) assert.deepEqual({ ...place.segments }, segments);
    await controller.DeleteSnapshot({ snapshot_id: snapshot.snapshot_id });
    await controller.DeleteVolume({ volume_id: volume?.volume_id ?? '' });
  } finally {
    close();
  }
}

type Sanity = {
  /** Where the report goes. */
  readonly base: string;
  /** Below it the volumes are staged and published. */
  readonly work: string;
  readonly accessType: string;
  /** A spec that is not run, by its name. */
  readonly leaveAside?: string;
  readonly node: string;
  readonly controller: string;
};

function assertSane(t: TestContext, options: Sanity): void {
  const { base, accessType } = options;
  const { status, output } = sanity(options);
  const specs = readReport(join(base, 'report.json'));
  t.diagnostic(`${accessType}: ${specs.ran.length} specs ran, ${specs.skipped.length} skipped`);
  for (const line of specs.skipped) t.diagnostic(`${accessType}: skipped: ${line}`);
  assert.equal(status, 0, output);
  assert.ok(specs.ran.length > 40, `only ${specs.ran.length} specs ran`);
}

function sanity({ base, work, accessType, leaveAside, node, controller }: Sanity): {
  status: number | null;
  output: string;
} {
  const args = [
    `--csi.endpoint=${node}`,
    `--csi.controllerendpoint=${controller}`,
    `--csi.stagingdir=${join(work, 'staging')}`,
    `--csi.mountdir=${join(work, 'target')}`,
    `--csi.testvolumeaccesstype=${accessType}`,
    `--ginkgo.json-report=${join(base, 'report.json')}`,
    '--ginkgo.no-color',
    ...(leaveAside === undefined ? [] : [`--ginkgo.skip=${leaveAside}`]),
  ];
  const { status, stdout, stderr } = spawnSync(join(dir, 'csi-sanity'), args, {
    encoding: 'utf8',
    cwd: base,
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, output: `${stdout}\n${stderr}` };
}

type Spec = {
  readonly State: string;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly Failure?: { readonly Message: string };
};

function readReport(path: string): { readonly ran: readonly string[]; readonly skipped: readonly string[] } {
  const [report] = JSON.parse(readFileSync(path, 'utf8')) as readonly [
    { readonly SpecReports: readonly Spec[] },
  ];
  const specs = report.SpecReports.filter(spec => spec.LeafNodeType === 'It');
  const nameOf = (spec: Spec): string =>
    [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' › ');
  const isSkipped = (spec: Spec): boolean => spec.State === 'skipped' || spec.State === 'pending';
  return {
    ran: specs.filter(spec => !isSkipped(spec)).map(nameOf),
    skipped: specs.filter(isSkipped).map(spec => `${nameOf(spec)} (${spec.Failure?.Message ?? spec.State})`),
  };
}
