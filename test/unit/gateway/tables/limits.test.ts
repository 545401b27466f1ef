import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import * as z from 'zod';
import { attachmentTable } from '../../../../gateway/tables/attachments.ts';
import { noTurn } from '../../../../gateway/attachments/trim-turns.ts';
import { countTable } from '../../../../gateway/tables/counts.ts';
import { tables } from '../../../../gateway/tables/schema.ts';
import { snapshotTable } from '../../../../gateway/tables/snapshots.ts';
import { grantTable } from '../../../../gateway/tables/grants.ts';
import { newSnapshotRecord } from '../../../../gateway/snapshots/record.ts';
import { limits, type LimitName } from '../../../../src/api/limits.ts';
import { allOperations, type OperationId } from '../../../../src/api/operations.ts';
import type { ProblemCode } from '../../../../src/api/problem.ts';
import type { Capability } from '../../../../src/api/storage.ts';
import {
  assertProblem,
  clusters,
  openGateway,
  mounted,
  volumeSpec,
  type Gateway,
} from '../../../harness/gateway.ts';

const { a } = clusters;
const readers: Capability = { accessType: 'mount', accessMode: 'MULTI_NODE_READER_ONLY' };

/** The reason why a table has no limit of its own. */
type Reason = `each belongs to ${string}` | `only ${string}`;

/** The limits of the rows of each table. */
const bounds: Readonly<Record<string, LimitName | Reason>> = {
  volumes: 'volumesPerCluster',
  snapshots: 'snapshotsPerCluster',
  snapshot_groups: 'each belongs to a snapshot at least',
  attachments: 'attachmentsPerCluster',
  nodes: 'nodesPerCluster',
  grants: 'grantsPerVolume',
  copy_grants: 'grantsPerVolume',
  claims: 'each belongs to a request in flight',
  reservations: 'each belongs to a topology of a pool and a cluster',
  clock: 'only gateways write to it',
  counts: 'only gateways write to it: some rows for each cluster',
  findings: 'only operators make them',
  closures: 'only operators make them',
  ended_tokens: 'only operators make them, and they go after their tokens',
  audit_log: 'each belongs to a change',
  history: 'only gateways write to it: a row for each minute of a day',
};

test('every table has a limit of its rows, or a reason why it needs none', () => {
  assert.deepEqual(Object.keys(bounds).toSorted(), tables.map(({ name }) => name).toSorted());
  for (const bound of Object.values(bounds))
    assert.ok(bound in limits || /^(each belongs to|only) /.test(bound), bound);
});

/** Finds the unbounded parts of a schema: lists of any length. */
function unboundedIn(schema: unknown, path: string): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, maxItems } = schema as { readonly type?: unknown; readonly maxItems?: unknown };
  const own = type === 'array' && typeof maxItems !== 'number' ? [path] : [];
  return [...own, ...Object.entries(schema).flatMap(([key, inner]) => unboundedIn(inner, `${path}.${key}`))];
}

for (const { id, body } of allOperations.filter(one => one.body))
  test(`every list in the body of ${id} is bounded`, () => {
    assert.deepEqual(unboundedIn(z.toJSONSchema(body as z.ZodType, { io: 'input' }), id), []);
  });

const label = ['a', 'b', 'c'].map(part => part.repeat(64)).join(':');
/** Makes mount flags of about this many bytes, which a node accepts. */
const wideFlags = (bytes: number): Capability => {
  const flag = `context=${label}:s0`;
  return { ...mounted, mountFlags: Array.from({ length: Math.floor(bytes / flag.length) }, () => flag) };
};
/** Each value is within its own limits, but the whole record is above its limit. */
const large = Array.from({ length: 8 }, () => wideFlags(4_000));
/** In JSON each character takes six. */
const escaped = { key: '\u0001'.repeat(4_000) };

/** For each operation that records a caller's input, a body that is too large as a whole and in no part. */
const tooLarge: Readonly<Partial<Record<OperationId, readonly [route: string, body: unknown]>>> = {
  createVolume: ['PUT /v1/volumes/a.two', volumeSpec('two', { capabilities: large })],
  modifyVolume: ['PUT /v1/volumes/a.one/parameters', { mutableParameters: escaped }],
  createSnapshot: ['PUT /v1/snapshots/a.cut', { name: 'cut', volumeId: 'a.one', parameters: escaped }],
  createGroup: ['PUT /v1/groups/a.all', { name: 'all', volumeIds: ['a.one'], parameters: escaped }],
  attachVolume: [
    'PUT /v1/volumes/a.one/attachments/n1',
    { capability: { ...mounted, mountFlags: [escaped.key] }, readonly: false },
  ],
  importVolume: ['PUT /v1/admin/imports/a.old', { pool: 'main', storageId: 'old', capabilities: large }],
};
/** Operations that record only short input of a caller. */
const short: readonly OperationId[] = [
  // A topology has plain characters, and at most `mapBytes`.
  'putNode',
  'expandVolume',
  'grantVolume',
  'grantAdminVolume',
  'transferVolume',
  'detachAdminVolume',
];
/** Operations with a body that record nothing of it. */
const asking: readonly OperationId[] = [
  'getCapacity',
  'validateVolume',
  'repair',
  'detachNode',
  'deleteAdminGroup',
  'deleteAdminSnapshot',
  'deleteAdminVolume',
  'retireCluster',
  'drainPool',
];

test('each operation with a body has one that is too large, or is short, or records nothing', () => {
  const known = [...(Object.keys(tooLarge) as OperationId[]), ...short, ...asking];
  const withBody = allOperations.filter(({ body }) => body).map(({ id }) => id);
  assert.deepEqual(known.toSorted(), withBody.toSorted());
});

for (const [id, [route, body]] of Object.entries(tooLarge))
  test(`${id} refuses a record that would be too large, with the size and the limit, and records nothing`, async t => {
    const gateway = await makeTakingAny(t);
    const before = await sizesOf(gateway);
    const answer = await gateway.ask(route, { as: route.includes('/admin/') ? 'operator' : 'a', body });
    assertProblem(answer, 400, 'INVALID_ARGUMENT');
    assert.match(
      String(answer.body['detail']),
      /must have at most (16384|4096) bytes, and would have \d{4,6}: give fewer .* \(limit "(recordBytes|mapBytes)"\)/,
    );
    assert.deepEqual(await sizesOf(gateway), before);
  });

test('a record just within the limit is accepted', async t => {
  const gateway = await makeTakingAny(t);
  const capabilities = [...large.slice(0, 3), wideFlags(3_000)];
  assert.equal(
    (await gateway.ask('PUT /v1/volumes/a.two', { body: volumeSpec('two', { capabilities }) })).status,
    201,
  );
});

test('the mount flags of one capability have at most 4096 bytes in total', async t => {
  const gateway = await makeTakingAny(t);
  const mountFlags = Array.from({ length: 64 }, () => 'f'.repeat(940));
  const capabilities = Array.from({ length: 8 }, () => ({ ...mounted, mountFlags }));
  const answer = await gateway.ask('PUT /v1/volumes/a.two', { body: volumeSpec('two', { capabilities }) });
  assertProblem(answer, 400, 'INVALID_ARGUMENT');
  assert.match(
    String(answer.body['detail']),
    /^body\.capabilities\.0\.mountFlags: must have at most 4096 bytes, and would have 60160: .*"mountFlagBytes"/,
  );
});

test('mutable parameters from several requests have at most the bytes of one map', async t => {
  const gateway = await makeTakingAny(t);
  const give = (key: string) =>
    gateway.ask('PUT /v1/volumes/a.one/parameters', {
      body: { mutableParameters: { [key]: 'v'.repeat(1_300) } },
    });
  for (const key of ['one', 'two', 'three']) assert.equal((await give(key)).status, 200);
  assertProblem(await give('four'), 400, 'INVALID_ARGUMENT');
  assert.equal((await give('one')).status, 200);
});

/** A resource at its maximum, and the operation that would add one more. */
type FullResource = {
  readonly limit: LimitName;
  readonly code: ProblemCode;
  readonly fill: (gateway: Gateway) => Promise<unknown>;
  readonly more: (gateway: Gateway) => Promise<unknown>;
};
const cut = (name: string) => ({ name, volumeId: 'a.one' });
const full: readonly FullResource[] = [
  {
    limit: 'volumesPerCluster',
    code: 'RESOURCE_EXHAUSTED',
    fill: gateway => count(gateway, 'volumes'),
    more: ({ volumes }) => volumes.create(a, 'a.two', volumeSpec('two')),
  },
  {
    limit: 'snapshotsPerCluster',
    code: 'RESOURCE_EXHAUSTED',
    fill: gateway => count(gateway, 'snapshots'),
    more: ({ snapshots }) => snapshots.create(a, 'a.cut', cut('cut')),
  },
  {
    limit: 'snapshotsPerVolume',
    code: 'RESOURCE_EXHAUSTED',
    fill: ({ engine }) =>
      engine.transaction(async sql => {
        const volume = { pool: 'main', segments: undefined, sizeBytes: 1 };
        for (let index = 0; index < limits.snapshotsPerVolume.max; index++) {
          const asked = {
            id: `a.old-${index}`,
            cluster: 'a',
            name: 'old',
            volumeId: 'a.one',
            parameters: {},
          };
          await snapshotTable.add(sql, newSnapshotRecord(asked, volume));
        }
      }),
    more: ({ snapshots }) => snapshots.create(a, 'a.cut', cut('cut')),
  },
  {
    limit: 'attachmentsPerVolume',
    code: 'FAILED_PRECONDITION',
    fill: gateway => fillNodes(gateway, 'a'),
    more: ({ attachments }) =>
      attachments.attach(
        { cluster: { ...a, acceptAnyNode: true }, volumeId: 'a.one', nodeId: 'n1' },
        { capability: readers, readonly: true },
      ),
  },
  {
    limit: 'attachmentsPerCluster',
    code: 'FAILED_PRECONDITION',
    fill: ({ engine }) =>
      engine.transaction(sql =>
        countTable.replace(sql, {
          cluster: 'a',
          kind: 'attachments',
          pool: '',
          part: 0,
          number: limits.attachmentsPerCluster.max,
        }),
      ),
    more: ({ attachments }) =>
      attachments.attach(
        { cluster: a, volumeId: 'a.one', nodeId: 'n1' },
        { capability: mounted, readonly: false },
      ),
  },
  {
    limit: 'grantsPerVolume',
    code: 'RESOURCE_EXHAUSTED',
    fill: ({ engine }) =>
      engine.transaction(async sql => {
        const one = { volumeId: 'a.one', access: 'read-only', revoking: false, byOperator: true } as const;
        for (let index = 0; index < limits.grantsPerVolume.max; index++)
          await grantTable.add(sql, { ...one, cluster: `c${index}` });
      }),
    more: ({ sharing }) =>
      sharing.grant({ volumeId: 'a.one', grantee: 'b', cluster: a }, { access: 'read-only' }),
  },
];

for (const { limit, code, fill, more } of full)
  test(`a request beyond ${limit} is ${code}, with the limit and the remedy`, async t => {
    const gateway = await makeTakingAny(t);
    await fill(gateway);
    const { max, unit, remedy } = limits[limit];
    const detail = RegExp.escape(
      `must have at most ${max} ${unit}, and would have ${max + 1}: ${remedy} (limit "${limit}")`,
    );
    await assert.rejects(more(gateway), { code, detail: new RegExp(detail) });
  });

test('a volume with the maximum of foreign nodes is attached by its owner, and by no other cluster', async t => {
  const gateway = await makeTakingAny(t);
  await fillNodes(gateway, 'b');
  await gateway.sharing.grant({ volumeId: 'a.one', grantee: 'b' }, { access: 'read-only' });
  const attach = (cluster: typeof a | typeof clusters.b) =>
    gateway.attachments.attach(
      { cluster: { ...cluster, acceptAnyNode: true }, volumeId: 'a.one', nodeId: 'n1' },
      { capability: readers, readonly: true },
    );
  assert.equal((await attach(a)).created, true);
  const subject = /^volume "a.one" at nodes of clusters that share it must have at most 1024 attachments/;
  await assert.rejects(attach(clusters.b), { code: 'FAILED_PRECONDITION', detail: subject });
});

test('a volume with the maximum of nodes is shown with all nodes of its own cluster', async t => {
  const gateway = await makeTakingAny(t);
  await full.find(({ limit }) => limit === 'attachmentsPerVolume')?.fill(gateway);
  const { attachments } = await gateway.volumes.get(a, 'a.one');
  const max = limits.attachmentsPerVolume.max;
  assert.equal(new Set(attachments.map(({ nodeId }) => nodeId)).size, max);
  assert.deepEqual(attachments[0], { nodeId: 'old-0', readonly: true, state: 'attached' });
  const [listed] = (await gateway.volumes.list(a, { limit: 10 })).volumes;
  assert.equal(listed?.attachments.length, max);
});

test('a quota replaces the limit of all clusters', async t => {
  const gateway = await makeTakingAny(t);
  await count(gateway, 'volumes');
  const quota = { volumes: limits.volumesPerCluster.max + 1 };
  await gateway.volumes.create({ ...a, quota }, 'a.two', volumeSpec('two'));
});

/** Records the volume `a.one` at the maximum of the cluster's nodes. */
function fillNodes({ engine }: Gateway, cluster: string): Promise<unknown> {
  return engine.transaction(async sql => {
    const one = { volumeId: 'a.one', cluster, attachmentId: 'x', readonly: true };
    const more = { capability: readers, reach: undefined, sizeBytes: 1, state: 'attached' } as const;
    for (let index = 0; index < limits.attachmentsPerVolume.max; index++)
      await attachmentTable.add(sql, { ...one, ...more, ...noTurn, nodeId: `old-${index}` });
  });
}

/** Sets the cluster's count to the limit of all clusters. */
function count({ engine }: Gateway, what: 'volumes' | 'snapshots'): Promise<unknown> {
  const max = limits[`${what}PerCluster`].max;
  return engine.transaction(sql => sql.run(`update reservations set ${what} = ? where cluster = 'a'`, max));
}

/**
 * Makes a gateway with the volume `a.one`, over a storage that accepts any parameters and has a volume `old` of its
 * own.
 */
async function makeTakingAny(t: TestContext): Promise<Gateway> {
  const parameters = z.record(z.string(), z.string());
  return openGateway(t, {
    own: ({ modification, snapshots }) => ({
      modification: { ...modification, parameters },
      snapshots: { ...snapshots, parameters },
    }),
    volumes: ['one'],
    nodes: ['n1'],
    orphans: ['old'],
  });
}

/** Counts the rows and characters of each table, except refusals and running work. */
async function sizesOf({ engine: { reader } }: Gateway): Promise<readonly unknown[]> {
  const own = tables.filter(({ name }) => !['audit_log', 'claims', 'clock'].includes(name));
  const sizes = own.map(({ name, columns }) => {
    const characters = columns.map(column => `coalesce(length(cast(${column} as text)), 0)`).join(' + ');
    return reader.all(
      `select '${name}' as name, count(*) as number, sum(${characters}) as characters from ${name}`,
    );
  });
  return (await Promise.all(sizes)).flat();
}
