import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { MemoryBackend } from '../../../../gateway/backends/memory.ts';
import type { Cluster } from '../../../../gateway/callers/cluster.ts';
import { createImport } from '../../../../gateway/sharing/import.ts';
import { createTransfer } from '../../../../gateway/sharing/transfer.ts';
import { readUsage } from '../../../../gateway/tables/reservations.ts';
import { unavailableProblem } from '../../../../src/api/problem.ts';
import type { VolumeSpec } from '../../../../src/api/volume.ts';
import type { FaultyBackend } from '../../../fakes/faulty-backend.ts';
import {
  assertProblem,
  clusters,
  endClaims,
  mounted,
  openGateway,
  volumeSpec,
  type Gateway,
  type GatewayOptions,
} from '../../../harness/gateway.ts';
import { assertCounted, hour, volumesIn } from '../../../harness/gateway/fixtures.ts';

const { a, b } = clusters;
const mebibyte = 2 ** 20;

/**
 * Opens a gateway that keeps deleted volumes, with a pool of 10 MiB: `a.live` has 2 MiB, the soft-deleted `a.k0`,
 * `a.k1`, `b.k2` and `a.k3`, the oldest first, have 2 MiB each.
 */
async function open(t: TestContext, options: GatewayOptions<FaultyBackend<MemoryBackend>> = {}) {
  const gateway = await openGateway(t, { capacity: 10 * mebibyte, keepDeletedMs: hour, ...options });
  const { volumes, engine } = gateway;
  await gateway.create('a.live', { requiredBytes: 2 * mebibyte });
  for (const [index, id] of ['a.k0', 'a.k1', 'b.k2', 'a.k3'].entries()) {
    await gateway.create(id, { requiredBytes: 2 * mebibyte });
    await volumes.delete(id.startsWith('a.') ? a : b, id);
    await engine.transaction(sql => sql.run('update volumes set deleted_at_ms = ? where id = ?', index, id));
  }
  const make = (
    id: string,
    mebibytes: number,
    spec: Partial<VolumeSpec> & { readonly by?: Cluster } = {},
  ) => {
    const { by = id.startsWith('a.') ? a : b, ...rest } = spec;
    return volumes.create(by, id, volumeSpec(id.slice(2), { requiredBytes: mebibytes * mebibyte, ...rest }));
  };
  return { ...gateway, make };
}

/** Fails unless the storage has exactly these volumes, and the sums agree with the records. */
async function assertLeft({ backend, engine }: Gateway, ids: readonly string[]): Promise<void> {
  assert.deepEqual(await volumesIn(backend), ids.toSorted());
  await assertCounted(engine);
}

const full = (detail: RegExp) => ({ code: 'RESOURCE_EXHAUSTED', detail });

test('a create takes the room of the oldest soft-deleted volumes, of all clusters, and of no more than it needs', async t => {
  const gateway = await open(t);
  await gateway.make('a.new', 1);
  await assertLeft(gateway, ['a.k1', 'b.k2', 'a.k3', 'a.live', 'a.new']);
  await gateway.make('a.next', 1);
  await assertLeft(gateway, ['a.k1', 'b.k2', 'a.k3', 'a.live', 'a.new', 'a.next']);
  await gateway.make('a.large', 4);
  await assertLeft(gateway, ['a.k3', 'a.live', 'a.new', 'a.next', 'a.large']);
  const { body } = await gateway.ask('GET /v1/admin/audit-log?resource=a.k0&limit=1', { as: 'operator' });
  assert.partialDeepStrictEqual(body['entries'], [
    { operation: 'delete', about: 'room for others', actor: 'gateway', code: 'OK' },
  ]);
  const refusals = await gateway.ask('GET /v1/admin/audit-log?resource=a.new', { as: 'operator' });
  const codes = (refusals.body['entries'] as readonly { readonly code: string }[]).map(({ code }) => code);
  assert.deepEqual(codes, ['OK']);
});

const needing: Readonly<Record<string, (gateway: Awaited<ReturnType<typeof open>>) => Promise<unknown>>> = {
  expansion: ({ ask }) => ask('PUT /v1/volumes/a.live/size', { body: { requiredBytes: 4 * mebibyte } }),
  snapshot: ({ snapshot }) => snapshot('a.snap', 'a.live'),
  'group of snapshots': ({ groups }) => groups.create(a, 'a.g', { name: 'g', volumeIds: ['a.live'] }),
  clone: ({ make }) => make('a.zz', 2, { source: { kind: 'volume', volumeId: 'a.live' } }),
};

for (const [name, work] of Object.entries(needing))
  test(`the ${name} of a volume takes the room of the oldest soft-deleted volume`, async t => {
    const gateway = await open(t);
    await work(gateway);
    const left = ['a.k1', 'b.k2', 'a.k3', 'a.live', ...(name === 'clone' ? ['a.zz'] : [])];
    await assertLeft(gateway, left);
  });

test('a volume made from a snapshot takes room as others do', async t => {
  const gateway = await open(t);
  // A finished snapshot takes no room in this storage.
  await gateway.snapshot('a.snap', 'a.live');
  await gateway.make('a.zz', 6, { source: { kind: 'snapshot', snapshotId: 'a.snap' } });
  await assertLeft(gateway, ['a.k3', 'a.live', 'a.zz']);
});

test('nothing leaves for a request that is refused anyway', async t => {
  const gateway = await open(t);
  const all = ['a.k0', 'a.k1', 'b.k2', 'a.k3', 'a.live'];
  await assert.rejects(gateway.make('a.new', 9), full(/^pool "main" has 0 bytes left/));
  await assert.rejects(gateway.make('a.new', 11), { code: 'OUT_OF_RANGE' });
  const by = { ...a, quota: { volumes: 1 } };
  await assert.rejects(
    gateway.make('a.new', 1, { by }),
    full(/^the quota "volumes" of cluster "a" is 1: 1 are in use/),
  );
  await gateway.ask('PUT /v1/admin/pools/main/drain', { as: 'operator', body: {} });
  await assert.rejects(gateway.make('a.new', 1), { code: 'FAILED_PRECONDITION' });
  await assertLeft(gateway, all);
});

test('a group that does not fit as a whole makes nobody leave', async t => {
  const gateway = await open(t);
  await gateway.make('a.big', 4);
  await assertLeft(gateway, ['b.k2', 'a.k3', 'a.live', 'a.big']);
  const group = gateway.groups.create(a, 'a.g', { name: 'g', volumeIds: ['a.live', 'a.big'] });
  await assert.rejects(group, full(/ 6291456 are needed$/));
  await assertLeft(gateway, ['b.k2', 'a.k3', 'a.live', 'a.big']);
});

test('two creates that race for the same room both get room, and only one of them if there is room for one', async t => {
  const gateway = await open(t);
  const replica = await gateway.replica();
  await Promise.all([
    gateway.make('a.one', 2),
    replica.volumes.create(a, 'a.two', volumeSpec('two', { requiredBytes: 2 * mebibyte })),
  ]);
  await assertLeft(gateway, ['b.k2', 'a.k3', 'a.live', 'a.one', 'a.two']);
  const last = await Promise.allSettled([gateway.make('a.three', 4), gateway.make('a.four', 4)]);
  assert.deepEqual(last.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  const [three, four] = last;
  await assertLeft(gateway, [
    'a.live',
    'a.one',
    'a.two',
    three?.status === 'fulfilled' ? 'a.three' : 'a.four',
  ]);
  assert.ok(four);
});

test('calls that repeat a create while it makes room take no more room', async t => {
  const gateway = await open(t);
  const release = gateway.backend.hold('delete');
  const calls = Array.from({ length: 4 }, () => gateway.make('a.new', 2));
  await gateway.backend.entered('delete');
  release();
  await Promise.all(calls);
  await assertLeft(gateway, ['a.k1', 'b.k2', 'a.k3', 'a.live', 'a.new']);
});

test('a quota counts soft-deleted volumes apart: they leave when it is reached, and those of other clusters stay', async t => {
  const gateway = await open(t, { capacity: 100 * mebibyte });
  const all = ['a.k0', 'a.k1', 'b.k2', 'a.k3', 'a.live'];
  const make = (id: string, mebibytes: number, quota: Cluster['quota']) =>
    gateway.make(id, mebibytes, { by: { ...a, quota } });
  await make('a.new1', 2, { bytes: 10 * mebibyte });
  await assertLeft(gateway, [...all, 'a.new1']);
  await make('a.new2', 2, { bytes: 10 * mebibyte });
  await assertLeft(gateway, [...all.slice(1), 'a.new1', 'a.new2']);
  await make('a.new3', 1, { volumes: 5 });
  await assertLeft(gateway, [...all.slice(2), 'a.new1', 'a.new2', 'a.new3']);
  await make('a.new4', 1, { pools: { main: { volumes: 5 } } });
  await assertLeft(gateway, ['b.k2', 'a.live', 'a.new1', 'a.new2', 'a.new3', 'a.new4']);
  await assert.rejects(make('a.new5', 1, { volumes: 5 }), full(/5 are in use, and 1 more are requested$/));
  await assertLeft(gateway, ['b.k2', 'a.live', 'a.new1', 'a.new2', 'a.new3', 'a.new4']);
});

test('a transfer takes room in the quota of the next owner', async t => {
  const gateway = await open(t);
  const { foresee, transfer } = createTransfer(gateway, async () => {});
  const request = { volumeId: 'a.live', to: { ...b, quota: { volumes: 1 } } };
  assert.equal((await foresee(request)).id, 'b.live');
  assert.equal((await transfer(request)).id, 'b.live');
  await assertLeft(gateway, ['a.k0', 'a.k1', 'a.k3', 'a.live']);
  assert.partialDeepStrictEqual(await readUsage(gateway.engine.reader, 'b'), [
    { volumes: 1, deletedVolumes: 0 },
  ]);
});

test('an import takes room in the quota of its cluster', async t => {
  const gateway = await open(t, { capacity: 100 * mebibyte, orphans: ['orphan'] });
  const { foresee, importVolume } = createImport(gateway);
  const request = {
    volumeId: 'b.new',
    cluster: { ...b, quota: { volumes: 1 } },
    pool: 'main',
    storageId: 'orphan',
    capabilities: [mounted],
  };
  assert.equal((await foresee(request)).id, 'b.new');
  assert.equal((await importVolume(request)).state, 'ready');
  await assertLeft(gateway, ['a.k0', 'a.k1', 'a.k3', 'a.live', 'orphan']);
});

test('the capacity for new volumes includes the room of soft-deleted ones', async t => {
  const gateway = await open(t);
  const find = async (quota: Cluster['quota']) =>
    (await gateway.capacities.find({ ...a, quota }, {})).availableBytes;
  assert.equal(await find({}), 8 * mebibyte);
  assert.equal(await find({ bytes: 5 * mebibyte }), 3 * mebibyte);
  assert.equal(await find({ volumes: 1 }), 0);
  assert.equal(await find({ volumes: 2 }), 8 * mebibyte);
});

test('in a storage with topologies only volumes of the same topology leave', async t => {
  const [east, west] = [{ zone: 'east' }, { zone: 'west' }];
  const gateway = await openGateway(t, {
    capacity: [
      { segments: east, totalBytes: 4 * mebibyte },
      { segments: west, totalBytes: 4 * mebibyte },
    ],
    keepDeletedMs: hour,
  });
  const make = (name: string, segments: Readonly<Record<string, string>>) =>
    gateway.create(`a.${name}`, { requiredBytes: 4 * mebibyte, topology: { requisite: [segments] } });
  for (const [name, segments] of [
    ['w', west],
    ['e', east],
  ] as const) {
    await make(name, segments);
    await gateway.volumes.delete(a, `a.${name}`);
  }
  await make('new', east);
  await assertLeft(gateway, ['a.w', 'a.new']);
});

for (const point of ['before-intent', 'after-intent', 'after-commit', 'before-answer'] as const)
  test(`a gateway that ends at the point ${point} of the deletion that makes room loses no other volume`, async t => {
    let state: 'runs' | 'ends' | 'ended' = 'runs';
    const gateway = await open(t, {
      checkpoint(step) {
        if (state === 'ended' || (state === 'ends' && step.operation === 'delete' && step.point === point)) {
          state = 'ended';
          throw unavailableProblem('the gateway ended');
        }
      },
      wrapEngine: engine => ({
        ...engine,
        transaction: async work => {
          if (state === 'ended') throw unavailableProblem('the gateway ended');
          return engine.transaction(work);
        },
      }),
    });
    const replica = await gateway.replica({ wrapEngine: engine => engine, checkpoint: () => {} });
    state = 'ends';
    await assert.rejects(gateway.make('a.new', 4), { code: 'UNAVAILABLE' });
    await endClaims(replica);
    await replica.recovery.sweep();
    await assertLeft(replica, ['a.k1', 'b.k2', 'a.k3', 'a.live']);
    await replica.create('a.new', { requiredBytes: 4 * mebibyte });
    await assertLeft(replica, ['b.k2', 'a.k3', 'a.live', 'a.new']);
  });

test('a soft-deleted volume that cannot be deleted does not keep a younger one from leaving', async t => {
  const gateway = await open(t);
  gateway.backend.failNext('delete', 'before', unavailableProblem('injected'));
  await gateway.make('a.new', 2);
  await assertLeft(gateway, ['a.k0', 'b.k2', 'a.k3', 'a.live', 'a.new']);
  assert.equal(await gateway.recovery.sweep(), 1);
  await assertLeft(gateway, ['b.k2', 'a.k3', 'a.live', 'a.new']);
});

test('a storage that deletes nothing costs no more than a few soft-deleted volumes', async t => {
  const gateway = await open(t);
  const fail = (): void => {
    for (let index = 0; index < 3; index++)
      gateway.backend.failNext('delete', 'before', unavailableProblem('injected'));
  };
  for (let time = 0; time < 3; time++) {
    fail();
    await assert.rejects(gateway.make('a.new', 2), full(/^pool "main" has 0 bytes left/));
  }
  await gateway.recovery.sweep();
  await assertLeft(gateway, ['a.k3', 'a.live']);
});

test('no volume leaves if those that can be deleted do not leave enough room', async t => {
  const gateway = await open(t);
  gateway.backend.failNext('delete', 'before', unavailableProblem('injected'));
  await assert.rejects(gateway.make('a.new', 8), full(/^pool "main" has 0 bytes left/));
  await gateway.recovery.sweep();
  await assertLeft(gateway, ['a.k1', 'b.k2', 'a.k3', 'a.live']);
});

test('a volume that is restored while it is about to leave stays', async t => {
  const gateway = await open(t);
  const restore = (id: string) =>
    gateway.ask(`PUT /v1/admin/deleted-volumes/${id}/restore`, { as: 'operator' });
  const release = gateway.backend.hold('delete');
  const made = gateway.make('a.new', 2);
  await gateway.backend.entered('delete');
  assertProblem(await restore('a.k0'), 404, 'NOT_FOUND');
  assert.equal((await restore('a.k1')).status, 204);
  release();
  await made;
  await assertLeft(gateway, ['a.k1', 'b.k2', 'a.k3', 'a.live', 'a.new']);
  const { body } = await gateway.ask('GET /v1/volumes/a.k1');
  assert.equal(body['state'], 'ready');
  await gateway.make('a.more', 4);
  await assertLeft(gateway, ['a.k1', 'a.live', 'a.new', 'a.more']);
});

test('operators see soft-deleted volumes counted apart', async t => {
  const gateway = await open(t);
  const list = async (name: string) =>
    (await gateway.ask(`GET /v1/admin/${name}`, { as: 'operator' })).body[name] as readonly object[];
  const [pool] = await list('pools');
  const part = { deletedBytes: 8 * mebibyte, deletedVolumes: 4 };
  assert.partialDeepStrictEqual(pool, { reservedBytes: 10 * mebibyte, volumes: 5, ...part });
  const found = await list('clusters');
  const ofA = { deletedBytes: 6 * mebibyte, deletedVolumes: 3, reservedBytes: 8 * mebibyte, volumes: 4 };
  assert.partialDeepStrictEqual(
    found.find(one => (one as { readonly id: string }).id === 'a'),
    { use: [ofA] },
  );
});
