import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { capacitySchema } from '../../../../src/api/storage.ts';
import type { NodeSpec } from '../../../../src/api/node.ts';
import { clusters, assertProblem, openGateway, mounted } from '../../../harness/gateway.ts';

const mebibyte = 2 ** 20;
const a = { zone: 'a' };
const b = { zone: 'b' };
const spaces = [
  { totalBytes: 10 * mebibyte, segments: a },
  { totalBytes: 20 * mebibyte, segments: b },
];
const use = { capability: mounted, readonly: false };
const strict = clusters.a;
const any = clusters.any;
const fromSnapshot = { kind: 'snapshot', snapshotId: 'a.cut' } as const;
const fromVolume = { kind: 'volume', volumeId: 'a.one' } as const;

/** Opens a gateway with the volumes `a.one` and `any.one` in zone b. */
async function open(t: TestContext) {
  const gateway = await openGateway(t, { capacity: spaces });
  for (const id of ['a.one', 'any.one']) await gateway.create(id, { topology: { requisite: [b] } });
  return gateway;
}

const nodes: readonly (readonly [name: string, node: NodeSpec, says: RegExp | undefined])[] = [
  ['in the same zone', { topology: b }, undefined],
  ['in the same zone, with more to report', { topology: { ...b, rack: 'r1' } }, undefined],
  ['in another zone', { topology: a }, /"a.one" is in "zone=b", but node "n1" is in "zone=a"$/],
  ['that reports other things', { topology: { rack: 'r1' } }, /but node "n1" is in "rack=r1"$/],
  ['with an empty zone', { topology: { zone: '' } }, /but node "n1"/],
  ['that reports nothing', {}, /"a.one" is in "zone=b", but node "n1" has reported no topology$/],
];
for (const [name, node, says] of nodes) {
  test(`a volume is ${says ? 'not ' : ''}attached to a node ${name}`, async t => {
    const { attachments, nodes: known, volumes } = await open(t);
    await known.put(clusters.a, 'n1', node);
    const key = { cluster: strict, volumeId: 'a.one', nodeId: 'n1' };
    const work = attachments.attach(key, use);
    if (!says) return assert.equal((await work).attachment.state, 'attached');
    await assert.rejects(work, { code: 'FAILED_PRECONDITION', detail: says });
    assert.deepEqual((await volumes.get(clusters.a, 'a.one')).attachments, []);
  });
}

test('a cluster that may name any node may use one without a topology, and no other cluster may', async t => {
  const { attachments, nodes: known } = await open(t);
  const key = { cluster: any, volumeId: 'any.one', nodeId: 'n1' };
  assert.equal((await attachments.attach(key, use)).created, true);
  await attachments.detach(key);
  await known.put(clusters.any, 'n1', { maxVolumes: 1 });
  assert.equal((await attachments.attach(key, use)).created, true);
  await known.put(clusters.any, 'n1', { topology: a });
  // An attachment stays when the node's labels change.
  assert.equal((await attachments.attach(key, use)).created, false);
  await attachments.detach(key);
  await assert.rejects(attachments.attach(key, use), { code: 'FAILED_PRECONDITION' });
});

test('a snapshot has the topology of its volume, and is impossible elsewhere', async t => {
  const { snapshots } = await open(t);
  const spec = { name: 'cut', volumeId: 'a.one' };
  await assert.rejects(snapshots.create(clusters.a, 'a.cut', { ...spec, topology: { requisite: [a] } }), {
    code: 'RESOURCE_EXHAUSTED',
    detail: /"a.cut" can only be where volume "a.one" is: in "zone=b"/,
  });
  assert.deepEqual((await snapshots.list(clusters.a, { limit: 9 })).snapshots, []);
  const asked = { ...spec, topology: { requisite: [a, b], preferred: [a] } };
  const { snapshot } = await snapshots.create(clusters.a, 'a.cut', asked);
  assert.deepEqual(snapshot.topology, [b]);
  assert.deepEqual(await snapshots.create(clusters.a, 'a.cut', asked), { snapshot, created: false });
  assert.deepEqual((await snapshots.create(clusters.a, 'a.cut', spec)).snapshot, snapshot);
  const elsewhere = snapshots.create(clusters.a, 'a.cut', { ...spec, topology: { requisite: [a] } });
  await assert.rejects(elsewhere, { code: 'ALREADY_EXISTS', detail: /"a.cut" already exists in "zone=b"/ });
  assert.deepEqual((await snapshots.list(clusters.a, { limit: 9 })).snapshots, [snapshot]);
});

test('the members of a group have the topologies of their volumes', async t => {
  const { create, groups } = await open(t);
  await create('a.two', { topology: { requisite: [a] } });
  const spec = { name: 'both', volumeIds: ['a.one', 'a.two'] };
  const { group } = await groups.create(clusters.a, 'a.both', spec);
  const where = group.snapshots.map(({ topology }) => topology);
  assert.deepEqual(where, [[b], [a]]);
  assert.deepEqual((await groups.create(clusters.a, 'a.both', spec)).group, group);
});

for (const source of [fromSnapshot, fromVolume])
  test(`a copy of a ${source.kind} has its topology, also without a requirement`, async t => {
    const { snapshot, create, volumes } = await open(t);
    await snapshot('a.cut', 'a.one');
    const copy = (name: string, topology?: object) =>
      create(`a.${name}`, { source, ...(topology && { topology }) });
    assert.deepEqual((await copy('free')).volume.topology, [b]);
    assert.deepEqual((await copy('near', { requisite: [a, b], preferred: [a] })).volume.topology, [b]);
    const where = new RegExp(`its ${source.kind} is in "zone=b"`);
    await assert.rejects(copy('far', { requisite: [a] }), { code: 'RESOURCE_EXHAUSTED', detail: where });
    await assert.rejects(volumes.get(strict, 'a.far'), { code: 'NOT_FOUND' });
  });

test('a volume from before topologies is reachable from everywhere, and can be copied to any of them', async t => {
  const before = await openGateway(t);
  await before.create('a.one');
  await before.snapshot('a.cut', 'a.one');
  const backend = { ...before.backend, topologies: [b] };
  const { create, volumes, snapshots } = await before.replica({ backend });
  assert.equal((await volumes.get(strict, 'a.one')).topology, undefined);
  assert.equal((await snapshots.get(strict, 'a.cut')).topology, undefined);
  for (const source of [fromSnapshot, fromVolume]) {
    const { volume } = await create(`a.${source.kind}`, { source, topology: { requisite: [b] } });
    assert.deepEqual(volume.topology, [b]);
  }
});

test('the capacity is the sum over the requested topologies: all, one, or none', async t => {
  const { ask } = await open(t);
  const capacity = async (body: object) => (await ask('POST /v1/capacity', { body })).body;
  const [inA, inB] = [10 * mebibyte, 18 * mebibyte];
  const all = { availableBytes: inA + inB, maximumVolumeBytes: inB, minimumVolumeBytes: 1 };
  assert.deepEqual(await capacity({}), all);
  assert.deepEqual(await capacity({ topology: { zone: '' } }), all);
  const one = { availableBytes: inA, maximumVolumeBytes: inA, minimumVolumeBytes: 1 };
  assert.deepEqual(await capacity({ topology: { ...a, 'x/protocol-nfs': 'true' } }), one);
  assert.deepEqual(await capacity({ topology: { zone: 'c' } }), { availableBytes: 0 });
  assert.deepEqual(await capacity({ topology: { rack: 'r1' } }), { availableBytes: 0 });
  const answer = await ask('POST /v1/capacity', { body: { topology: a, parameters: { colour: 'red' } } });
  assertProblem(answer, 400, 'INVALID_ARGUMENT');
});

test('the total capacity of all topologies is never more than a client can read', async t => {
  const space = { totalBytes: 2 ** 52 };
  const own = { sizes: undefined, capacity: async () => space };
  const { ask } = await openGateway(t, { capacity: spaces, own });
  const { body } = await ask('POST /v1/capacity', { body: {} });
  assert.deepEqual(capacitySchema.parse(body), { availableBytes: Number.MAX_SAFE_INTEGER });
});

for (const [what, topologies] of [
  ['has no topology any more', undefined],
  ['is in another topology now', [b]],
] as const)
  test(`a volume of a pool that ${what} is expanded and snapshotted`, async t => {
    const before = await openGateway<Backend>(t, { capacity: 10 * mebibyte, own: { topologies: [a] } });
    await before.create('a.one');
    const { topologies: _, ...backend } = before.backend;
    const after = await before.replica({ backend: { ...backend, ...(topologies && { topologies }) } });
    const { sizeBytes } = await after.changes.expand(strict, 'a.one', { requiredBytes: 2 * mebibyte });
    assert.equal(sizeBytes, 2 * mebibyte);
    await after.snapshot('a.cut', 'a.one');
    await assert.rejects(after.changes.expand(strict, 'a.one', { requiredBytes: 11 * mebibyte }), {
      code: 'OUT_OF_RANGE',
    });
  });
