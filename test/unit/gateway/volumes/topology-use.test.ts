import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { capacitySchema } from '../../../../src/api/storage.ts';
import type { NodeSpec } from '../../../../src/api/node.ts';
import {
  clusters,
  assertProblem,
  makeGateway,
  mounted,
  openMemory,
  temporaryDirectory,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';

const mebibyte = 2 ** 20;
const a = { zone: 'a' };
const b = { zone: 'b' };
const nowhere = { zone: 'c' };
const spaces = [
  { totalBytes: 10 * mebibyte, segments: a },
  { totalBytes: 20 * mebibyte, segments: b },
];
const use = { capability: mounted, readonly: false };
const strict = clusters.a;
const any = clusters.any;

/** With a volume `a.one` and `any.one` in zone b. */
async function open(t: TestContext): Promise<Gateway> {
  const gateway = await makeGateway(t, { backend: await openMemory(spaces) });
  const spec = volumeSpec('one', { topology: { requisite: [b] } });
  for (const cluster of [strict, any]) await gateway.volumes.create(cluster, `${cluster.name}.one`, spec);
  return gateway;
}

const nodes: readonly (readonly [name: string, node: NodeSpec, says: RegExp | undefined])[] = [
  ['in the same zone', { topology: b }, undefined],
  ['in the same zone, with more to tell', { topology: { ...b, rack: 'r1' } }, undefined],
  ['in another zone', { topology: a }, /"a.one" is in "zone=b", and node "n1" is in "zone=a"$/],
  ['that tells of other things', { topology: { rack: 'r1' } }, /and node "n1" is in "rack=r1"$/],
  ['with an empty zone', { topology: { zone: '' } }, /and node "n1"/],
  ['that reports nothing', {}, /"a.one" is in "zone=b", and node "n1" has reported no topology$/],
];
for (const [name, node, says] of nodes) {
  test(`a volume is ${says ? 'not ' : ''}attached to a node ${name}`, async t => {
    const { attachments, nodes: known, volumes } = await open(t);
    await known.put(clusters.a, 'n1', node);
    const key = { cluster: strict, volumeId: 'a.one', nodeId: 'n1' };
    const work = attachments.attach(key, use);
    if (!says) return assert.equal((await work).attachment.state, 'attached');
    await assert.rejects(work, isProblemThat('FAILED_PRECONDITION', says));
    assert.deepEqual((await volumes.get(clusters.a, 'a.one')).attachments, []);
  });
}

test('a cluster that is trusted with any node is trusted with one that reported no topology, and with no other', async t => {
  const { attachments, nodes: known } = await open(t);
  const key = { cluster: any, volumeId: 'any.one', nodeId: 'n1' };
  assert.equal((await attachments.attach(key, use)).created, true);
  await attachments.detach(key);
  await known.put(clusters.any, 'n1', { maxVolumes: 1 });
  assert.equal((await attachments.attach(key, use)).created, true);
  await known.put(clusters.any, 'n1', { topology: a });
  // What is attached stays so, whatever becomes of the node's labels.
  assert.equal((await attachments.attach(key, use)).created, false);
  await attachments.detach(key);
  await assert.rejects(attachments.attach(key, use), isProblem('FAILED_PRECONDITION'));
});

test('a snapshot is where its volume is, and can be had nowhere else', async t => {
  const { snapshots } = await open(t);
  const spec = { name: 'cut', volumeId: 'a.one' };
  await assert.rejects(
    snapshots.create(clusters.a, 'a.cut', { ...spec, topology: { requisite: [a] } }),
    isProblemThat('RESOURCE_EXHAUSTED', /"a.cut" can only be where volume "a.one" is: in "zone=b"/),
  );
  assert.deepEqual((await snapshots.list(clusters.a, { limit: 9 })).snapshots, []);
  const asked = { ...spec, topology: { requisite: [a, b], preferred: [a] } };
  const { snapshot } = await snapshots.create(clusters.a, 'a.cut', asked);
  assert.deepEqual(snapshot.topology, [b]);
  assert.deepEqual(await snapshots.create(clusters.a, 'a.cut', asked), { snapshot, created: false });
  assert.deepEqual((await snapshots.create(clusters.a, 'a.cut', spec)).snapshot, snapshot);
  const elsewhere = snapshots.create(clusters.a, 'a.cut', { ...spec, topology: { requisite: [a] } });
  await assert.rejects(elsewhere, isProblemThat('ALREADY_EXISTS', /"a.cut" is there, in "zone=b"/));
  assert.deepEqual((await snapshots.list(clusters.a, { limit: 9 })).snapshots, [snapshot]);
});

test('the members of a group are where their volumes are', async t => {
  const { volumes, groups } = await open(t);
  await volumes.create(clusters.a, 'a.two', volumeSpec('two', { topology: { requisite: [a] } }));
  const spec = { name: 'both', volumeIds: ['a.one', 'a.two'] };
  const { group } = await groups.create(clusters.a, 'a.both', spec);
  assert.deepEqual(
    group.snapshots.map(({ topology }) => topology),
    [[b], [a]],
  );
  assert.deepEqual((await groups.create(clusters.a, 'a.both', spec)).group, group);
});

for (const kind of ['snapshot', 'volume'] as const) {
  test(`what is made from a ${kind} is where that is, also when nothing is asked`, async t => {
    const { volumes, snapshots } = await open(t);
    await snapshots.create(clusters.a, 'a.cut', { name: 'cut', volumeId: 'a.one' });
    const source = kind === 'snapshot' ? { kind, snapshotId: 'a.cut' } : { kind, volumeId: 'a.one' };
    const free = await volumes.create(clusters.a, 'a.copy', volumeSpec('copy', { source }));
    assert.deepEqual(free.volume.topology, [b]);
    const asked = volumeSpec('near', { source, topology: { requisite: [a, b], preferred: [a] } });
    assert.deepEqual((await volumes.create(clusters.a, 'a.near', asked)).volume.topology, [b]);
    const far = volumeSpec('far', { source, topology: { requisite: [a] } });
    await assert.rejects(
      volumes.create(clusters.a, 'a.far', far),
      isProblemThat('RESOURCE_EXHAUSTED', new RegExp(`its ${kind} is in "zone=b"`)),
    );
    await assert.rejects(volumes.get(clusters.a, 'a.far'), isProblem('NOT_FOUND'));
  });
}

test('what was made before topologies were known is reached from everywhere, and copied to any of them', async t => {
  const store = join(temporaryDirectory(t), 'store.sqlite');
  const backend = await openMemory();
  const before = await makeGateway(t, { store, backend });
  await before.volumes.create(clusters.a, 'a.old', volumeSpec('old'));
  await before.snapshots.create(clusters.a, 'a.cut', { name: 'cut', volumeId: 'a.old' });
  const { volumes, snapshots } = await makeGateway(t, { store, backend: { ...backend, topologies: [b] } });
  assert.equal((await volumes.get(clusters.a, 'a.old')).topology, undefined);
  assert.equal((await snapshots.get(clusters.a, 'a.cut')).topology, undefined);
  for (const source of [
    { kind: 'snapshot', snapshotId: 'a.cut' },
    { kind: 'volume', volumeId: 'a.old' },
  ] as const) {
    const spec = volumeSpec(source.kind, { source, topology: { requisite: [b] } });
    assert.deepEqual((await volumes.create(clusters.a, `a.${source.kind}`, spec)).volume.topology, [b]);
  }
});

test('the capacity is that of the topologies that are meant: all, one, or none', async t => {
  const { ask } = await open(t);
  const capacity = async (body: object) => (await ask('POST /v1/capacity', { body })).body;
  const [inA, inB] = [10 * mebibyte, 18 * mebibyte];
  const all = { availableBytes: inA + inB, maximumVolumeBytes: inB, minimumVolumeBytes: 1 };
  assert.deepEqual(await capacity({}), all);
  assert.deepEqual(await capacity({ topology: { zone: '' } }), all);
  const one = { availableBytes: inA, maximumVolumeBytes: inA, minimumVolumeBytes: 1 };
  assert.deepEqual(await capacity({ topology: { ...a, 'x/protocol-nfs': 'true' } }), one);
  assert.deepEqual(await capacity({ topology: nowhere }), { availableBytes: 0 });
  assert.deepEqual(await capacity({ topology: { rack: 'r1' } }), { availableBytes: 0 });
  const answer = await ask('POST /v1/capacity', { body: { topology: a, parameters: { colour: 'red' } } });
  assertProblem(answer, 400, 'INVALID_ARGUMENT');
});

test('the capacity of all topologies together is never more than a client can read', async t => {
  const space = { totalBytes: 2 ** 52 };
  const { sizes: _, ...inner } = await openMemory(spaces);
  const backend = { ...inner, capacity: () => Promise.resolve(space) };
  const { ask } = await makeGateway(t, { backend });
  const { body } = await ask('POST /v1/capacity', { body: {} });
  assert.deepEqual(capacitySchema.parse(body), { availableBytes: Number.MAX_SAFE_INTEGER });
});

for (const [what, topologies] of [
  ['has no topology any more', undefined],
  ['is in another topology now', [b]],
] as const)
  test(`a volume of a pool that ${what} is expanded and snapshotted`, async t => {
    const store = join(temporaryDirectory(t), 'store.sqlite');
    const inner = await openMemory(10 * mebibyte);
    const before = await makeGateway(t, { backend: { ...inner, topologies: [a] }, store });
    await before.volumes.create(strict, 'a.one', volumeSpec('one'));
    const after = await makeGateway(t, { backend: { ...inner, ...(topologies && { topologies }) }, store });
    const { sizeBytes } = await after.changes.expand(strict, 'a.one', { requiredBytes: 2 * mebibyte });
    assert.equal(sizeBytes, 2 * mebibyte);
    await after.snapshots.create(strict, 'a.cut', { name: 'cut', volumeId: 'a.one' });
    await assert.rejects(
      after.changes.expand(strict, 'a.one', { requiredBytes: 11 * mebibyte }),
      isProblem('OUT_OF_RANGE'),
    );
  });
