import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { TopologyRequirement } from '../../../../src/api/storage.ts';
import type { ProblemCode } from '../../../../src/api/problem.ts';
import type { VolumeSpec } from '../../../../src/api/volume.ts';
import type { Segments } from '../../../../src/api/topology.ts';
import { clusters, openGateway, volumeSpec } from '../../../harness/gateway.ts';
import { volumesIn } from '../../../harness/gateway/fixtures.ts';

const mebibyte = 2 ** 20;
const a = { zone: 'a' };
const b = { zone: 'b' };
const c = { zone: 'c' };
/** Capacities: ten in a, twenty in b, and no topology in c. */
const capacity = [
  { totalBytes: 10 * mebibyte, segments: a },
  { totalBytes: 20 * mebibyte, segments: b },
];
const open = (t: TestContext) => openGateway(t, { capacity });

function spec(topology?: TopologyRequirement, more: Partial<VolumeSpec> = {}): VolumeSpec {
  return volumeSpec('one', { ...(topology && { topology }), ...more });
}

const chosen: readonly (readonly [
  name: string,
  asked: TopologyRequirement | undefined,
  segments: Segments,
])[] = [
  ['nothing is asked: the first', undefined, a],
  ['only empty values are asked: the first', { requisite: [{ zone: '' }], preferred: [{}] }, a],
  ['one term', { requisite: [b] }, b],
  ['several terms, one preferred', { requisite: [a, b, c], preferred: [b, a] }, b],
  ['the preferred has no topology', { requisite: [c, b], preferred: [c] }, b],
  ['preferred alone', { preferred: [b] }, b],
  ['preferred alone, where there is no topology', { preferred: [c] }, a],
  ['other keys as well', { requisite: [{ ...b, 'x/protocol-nfs': 'true' }] }, b],
];
for (const [name, asked, segments] of chosen) {
  test(`a volume is placed by its requirement: ${name}`, async t => {
    const { volumes } = await open(t);
    const { volume } = await volumes.create(clusters.a, 'a.one', spec(asked));
    assert.deepEqual(volume.topology, [segments]);
    assert.deepEqual((await volumes.list(clusters.a, { limit: 1 })).volumes[0]?.topology, [segments]);
    assert.deepEqual(await volumes.create(clusters.a, 'a.one', spec(asked)), { volume, created: false });
  });
}

type Refusal = readonly [string, TopologyRequirement, Partial<VolumeSpec>, ProblemCode];
const refused: readonly Refusal[] = [
  ['where there is no topology', { requisite: [c] }, {}, 'RESOURCE_EXHAUSTED'],
  ['with no key of the storage', { requisite: [{ rack: 'r1' }] }, {}, 'RESOURCE_EXHAUSTED'],
  ['where it does not fit', { requisite: [a] }, { requiredBytes: 11 * mebibyte }, 'RESOURCE_EXHAUSTED'],
  ['larger than any topology', { requisite: [a] }, { requiredBytes: 21 * mebibyte }, 'OUT_OF_RANGE'],
  ['preferred and not requisite', { requisite: [a], preferred: [b] }, {}, 'INVALID_ARGUMENT'],
];
for (const [name, asked, more, code] of refused) {
  test(`a volume that is requested ${name} is ${code}, and nothing is left`, async t => {
    const { volumes, backend } = await open(t);
    await assert.rejects(volumes.create(clusters.a, 'a.one', spec(asked, more)), { code });
    assert.deepEqual((await volumes.list(clusters.a, { limit: 9 })).volumes, []);
    assert.deepEqual(await volumesIn(backend), []);
    assert.equal((await volumes.create(clusters.a, 'a.one', spec())).created, true);
  });
}

for (const moment of [undefined, 'before', 'after'] as const)
  test(`a full topology is passed over${moment ? `, also once it is free again, by what failed ${moment} the storage committed` : ''}`, async t => {
    const { create, volumes, recovery, backend } = await open(t);
    const asked = { requisite: [b, a], preferred: [a] };
    await create('a.full', { requiredBytes: 10 * mebibyte });
    if (moment) backend.failNext('create', moment, new Error('the answer was lost'));
    const first = volumes.create(clusters.a, 'a.one', spec(asked));
    if (moment) await assert.rejects(first, { code: 'UNAVAILABLE' });
    else await first;
    await volumes.delete(clusters.a, 'a.full');
    await assert.rejects(volumes.create(clusters.a, 'a.one', spec({ requisite: [a] })), {
      code: 'ALREADY_EXISTS',
    });
    await recovery.sweep();
    const { volume } = await volumes.create(clusters.a, 'a.one', spec(asked));
    assert.deepEqual(volume.topology, [b]);
    const next = await create('a.next', { topology: asked });
    assert.deepEqual(next.volume.topology, [a]);
    assert.equal((await volumesIn(backend)).length, 2);
  });

test('a known name is found if it is reachable from the required topology, and is ALREADY_EXISTS otherwise', async t => {
  const { volumes } = await open(t);
  const { volume } = await volumes.create(clusters.a, 'a.one', spec({ requisite: [b] }));
  for (const asked of [
    undefined,
    { requisite: [c, b] },
    { preferred: [a] },
    { requisite: [{ ...b, rack: 'x' }] },
  ])
    assert.deepEqual(await volumes.create(clusters.a, 'a.one', spec(asked)), { volume, created: false });
  for (const asked of [{ requisite: [a] }, { requisite: [c] }, { requisite: [a, c], preferred: [a] }])
    await assert.rejects(volumes.create(clusters.a, 'a.one', spec(asked)), {
      code: 'ALREADY_EXISTS',
      detail: /"a.one" already exists in "zone=b"/,
    });
  assert.deepEqual(await volumes.get(clusters.a, 'a.one'), volume);
});

test('an unfinished volume in a topology that is gone is removed', async t => {
  const before = await open(t);
  const { backend } = before;
  backend.failNext('create', 'after', new Error('the answer was lost'));
  await assert.rejects(before.volumes.create(clusters.a, 'a.one', spec({ requisite: [a] })));
  const moved = await before.replica({ backend: { ...backend, topologies: [b] } });
  await moved.recovery.sweep();
  assert.deepEqual((await moved.volumes.list(clusters.a, { limit: 9 })).volumes, []);
  assert.deepEqual(await volumesIn(backend), []);
});

test('a topology that was not requested is never reported as created', async t => {
  const { volumes } = await openGateway(t, {
    capacity,
    own: inner => ({ create: async volume => ({ ...(await inner.create(volume)), segments: c }) }),
  });
  await assert.rejects(volumes.create(clusters.a, 'a.one', spec({ requisite: [b] })), {
    code: 'UNAVAILABLE',
    detail: /created volume "a.one" with 1048576 bytes in "zone=c", which does not match the request/,
  });
});

test("a storage with one topology need not report a volume's topology", async t => {
  const { volumes } = await openGateway(t, { own: { topologies: [b] } });
  assert.deepEqual((await volumes.create(clusters.a, 'a.one', spec())).volume.topology, [b]);
  await assert.rejects(volumes.create(clusters.a, 'a.two', spec({ requisite: [a] })), {
    code: 'RESOURCE_EXHAUSTED',
  });
});

test('a storage that is reachable from everywhere accepts any requirement', async t => {
  const { volumes, ask } = await openGateway(t);
  const { volume } = await volumes.create(clusters.a, 'a.one', spec({ requisite: [c] }));
  assert.equal(volume.topology, undefined);
  assert.equal((await volumes.create(clusters.a, 'a.one', spec({ requisite: [a] }))).created, false);
  const { body } = await ask('POST /v1/capacity', { body: { topology: c } });
  assert.ok(Number(body['availableBytes']) > 0);
});
