import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { temporaryMs } from '../../../../gateway/volumes/deletion/kept-time.ts';
import type { VolumeSpec } from '../../../../src/api/volume.ts';
import { assertProblem, clusters, openGateway, volumeSpec, type Gateway } from '../../../harness/gateway.ts';
import { hour } from '../../../harness/gateway/fixtures.ts';

const { a, b } = clusters;
const from = { kind: 'snapshot', snapshotId: 'a.snap' } as const;
const clone = { kind: 'volume', volumeId: 'a.one' } as const;
const reader = { accessType: 'mount', accessMode: 'MULTI_NODE_READER_ONLY' } as const;

type Setting = { readonly snapshotClass?: string; readonly pool?: number; readonly ageMs?: number };

/** Opens a gateway that keeps deleted volumes for an hour, with the volume `a.one` and its snapshot `a.snap`. */
async function open(t: TestContext, { snapshotClass, pool }: Setting = {}) {
  const gateway = await openGateway(t, {
    volumes: ['one'],
    keepDeletedMs: hour,
    ...(pool !== undefined && { keepDeletedIn: { main: pool } }),
  });
  const parameters = snapshotClass === undefined ? undefined : { keepDeleted: snapshotClass };
  await gateway.snapshots.create(a, 'a.snap', { name: 'snap', volumeId: 'a.one', parameters });
  return gateway;
}

/** Deletes the volume at this age. Returns for how many hours it can be restored; 0: it is gone. */
async function keptHours({ engine, ask, volumes }: Gateway, id: string, ageMs = 0): Promise<number> {
  await engine.transaction(sql =>
    sql.run('update volumes set created_at_ms = created_at_ms - ? where id = ?', ageMs, id),
  );
  const before = Date.now();
  const as = 'operator';
  const foreseen = await ask(`PUT /v1/admin/volumes/${id}/deletion`, { as, body: { dryRun: true } });
  await volumes.delete(id.startsWith('a.') ? a : b, id);
  const { body } = await ask('GET /v1/admin/deleted-volumes', { as });
  const [kept] = body['volumes'] as readonly { readonly restorableUntilMs: number }[];
  assert.equal(foreseen.body['outcome'], kept ? 'soft-deleted' : 'deleted');
  return kept ? Math.round((kept.restorableUntilMs - before) / hour) : 0;
}

const cases: readonly (readonly [string, Partial<VolumeSpec>, Setting, number])[] = [
  ['as the gateway says', {}, {}, 1],
  ['as the pool says', {}, { pool: 2 * hour }, 2],
  ['not at all in a pool that keeps none', {}, { pool: 0 }, 0],
  ['as the class says, even against the pool', { parameters: { keepDeleted: '3h' } }, { pool: 0 }, 3],
  ['not at all, if its class says so', { parameters: { keepDeleted: '0s' } }, {}, 0],
  ['not at all, if it was made from a snapshot a short time ago', { source: from }, {}, 0],
  [
    'not at all, if it was made from a snapshot a short time ago, even against its class',
    { source: from, parameters: { keepDeleted: '3h' } },
    { ageMs: temporaryMs - 60_000 },
    0,
  ],
  ['if it was made from a snapshot long ago', { source: from }, { ageMs: temporaryMs }, 1],
  ['if its age cannot be right', { source: from }, { ageMs: -hour }, 1],
  ["as its snapshot's class says", { source: from }, { snapshotClass: '4h' }, 4],
  [
    "not at all, if its snapshot's class says so",
    { source: from },
    { snapshotClass: '0s', ageMs: temporaryMs },
    0,
  ],
  ['if it was cloned from a volume a short time ago', { source: clone }, {}, 1],
  ['not at all, if it is a copy for readers', { source: clone, capabilities: [reader] }, {}, 0],
  [
    'not at all, if it is an old copy for readers',
    { source: from, capabilities: [reader] },
    { ageMs: temporaryMs },
    0,
  ],
  ['if it is for readers, but no copy', { capabilities: [reader] }, {}, 1],
];

for (const [when, spec, setting, hours] of cases)
  test(`a deleted volume is kept ${when}`, async t => {
    const gateway = await open(t, setting);
    await gateway.create('a.two', spec);
    assert.equal(await keptHours(gateway, 'a.two', setting.ageMs), hours);
  });

test("another cluster's snapshot class decides nothing for a copy", async t => {
  const gateway = await open(t, { snapshotClass: '4h' });
  const granted = await gateway.ask('PUT /v1/admin/snapshots/a.snap/copy-grants/b', { as: 'operator' });
  assert.equal(granted.status, 200);
  await gateway.create('b.two', { source: from });
  assert.equal(await keptHours(gateway, 'b.two', temporaryMs), 1);
});

test('keepDeleted is a duration, part of the request, and not known to the storage', async t => {
  const gateway = await open(t, { snapshotClass: '4h' });
  const create = (keepDeleted: string) =>
    gateway.ask('PUT /v1/volumes/a.two', { body: volumeSpec('two', { parameters: { keepDeleted } }) });
  const refused = await create('3 days');
  assertProblem(refused, 400, 'INVALID_ARGUMENT');
  assert.match(String(refused.body['detail']), /^parameter "keepDeleted": "3 days" is not a duration /);
  assert.equal((await create('3h')).status, 201);
  assert.deepEqual((await create('3h')).body['parameters'], { keepDeleted: '3h' });
  assertProblem(await create('4h'), 409, 'ALREADY_EXISTS');
  const snapshot = (keepDeleted: string) =>
    gateway.ask('PUT /v1/snapshots/a.snap', {
      body: { name: 'snap', volumeId: 'a.one', parameters: { keepDeleted } },
    });
  assert.equal((await snapshot('4h')).status, 200);
  assertProblem(await snapshot('5h'), 409, 'ALREADY_EXISTS');
  assertProblem(await snapshot('soon'), 400, 'INVALID_ARGUMENT');
  const confirmed = async (keepDeleted: string) => {
    const body = {
      capabilities: [{ accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' }],
      parameters: { keepDeleted },
    };
    return (await gateway.ask('POST /v1/volumes/a.two/validate', { body })).body['confirmed'];
  };
  assert.deepEqual([await confirmed('3h'), await confirmed('4h')], [true, false]);
});
