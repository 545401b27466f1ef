import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdminSnapshot, AdminVolume, ClusterState, PoolState } from '../../../src/api/admin.ts';
import { explain } from '../../../src/cli/commands/explain/advice.ts';
import type { Advice, Facts } from '../../../src/cli/commands/explain/facts.ts';

const nowMs = Date.parse('2026-02-01T12:00:00Z');
const before = (ms: number): string => new Date(nowMs - ms).toISOString();
const volume: AdminVolume = {
  id: 'a.one',
  name: 'one',
  cluster: 'a',
  pool: 'fast',
  state: 'ready',
  sizeBytes: 1,
  reservedBytes: 1,
  parameters: {},
  context: {},
  attachments: [],
  capabilities: [],
  createdAt: before(0),
};
const attachment = { cluster: 'a', nodeId: 'n1', state: 'attached', readonly: false } as const;
const pool: PoolState = {
  id: 'fast',
  state: 'open',
  features: [],
  reservedBytes: 1,
  volumes: 1,
  snapshots: 0,
};
const failure = {
  at: before(9_000),
  method: 'create',
  code: 'UNAVAILABLE',
  detail: 'no route',
  requestId: 'r9',
} as const;
const cluster: ClusterState = {
  id: 'a',
  isEnrolled: true,
  volumes: 1,
  snapshots: 0,
  nodes: 0,
  attachments: 0,
  use: [],
  quotas: [],
};
const operation = {
  id: 'volume/a.one',
  kind: 'volume',
  resourceId: 'a.one',
  operation: 'attach',
  since: before(180_000),
  until: before(-9_000),
  holder: '0b7e8a1c-1111',
} as const;
const snapshot: AdminSnapshot = { ...volume, id: 'a.cut', volumeId: 'a.one', state: 'processing' };
const last = {
  id: '1',
  at: before(60_000),
  actor: 'a',
  operation: 'attach',
  kind: 'volume',
  resource: 'a.one',
  about: 'n2',
  code: 'FAILED_PRECONDITION',
  requestId: 'r1',
} as const;

const usual: Facts = { id: 'a.one', nowMs, volume, pool, cluster, unknownNodes: [] };
const none: Facts = { ...usual, volume: undefined, pool: undefined };

/** The known facts, and the expected first sentence; a volume waits unless a fact says otherwise. */
const rows: readonly (readonly [sentence: string, facts: Partial<Facts>, what: RegExp, todo?: RegExp])[] = [
  [
    'an operation that runs',
    { operation },
    /^attach has been running on volume "a\.one" for 3m in gateway process 0b7e8a1c$/,
  ],
  [
    'an operation whose holder has died',
    { operation: { ...operation, until: before(1) } },
    /which no longer renews its claim$/,
    /sweep within 15 s/,
  ],
  ['a pool that is not configured', { pool: undefined }, /^pool "fast" is not configured$/, /gateway\.yaml/],
  [
    'a pool whose storage is away',
    { pool: { ...pool, state: 'waiting', waitingFor: 'no route' } },
    /^pool "fast" waits for its storage: no route$/,
    /every 2 s/,
  ],
  [
    'a storage that does not answer',
    {
      pool: {
        ...pool,
        answers: false,
        outage: 'silent',
        failingSince: before(9_000),
        fault: 'broken',
        lastFailure: failure,
      },
      operation,
    },
    /^pool "fast": its storage does not answer; failing since 2026-02-01T11:59:51.000Z; broken; create failed at .* with UNAVAILABLE: no route \(request r9\)$/,
    /fairlead describe pool fast/,
  ],
  [
    'a storage that answers but fails',
    { pool: { ...pool, answers: true, recentCalls: { total: 3, failed: 2 }, lastFailure: failure } },
    /^pool "fast": its storage fails; 2 of 3 calls failed in the last 5 minutes; create failed at /,
  ],
  [
    'a storage that answers with errors',
    { pool: { ...pool, answers: false, outage: 'errors' } },
    /^pool "fast": its storage answers with errors$/,
  ],
  [
    'something else that answers in place of a storage',
    { pool: { ...pool, answers: false, outage: 'foreign' } },
    /^pool "fast": its storage answers with something else than the Storage API$/,
  ],
  [
    'a call that its storage has not answered for long',
    { operation, pool: { ...pool, oldestCall: { method: 'attach', since: before(60_000) } } },
    /^the storage of pool "fast" has not answered attach for 1m$/,
    /large copy/,
  ],
  [
    'a create that is not done',
    { volume: { ...volume, state: 'creating' } },
    /not created yet, and no gateway is working/,
  ],
  [
    'a delete that is not done',
    { volume: { ...volume, state: 'deleting' } },
    /not deleted yet, and no gateway is working/,
  ],
  [
    'a soft-deleted volume',
    { volume: { ...volume, state: 'deleted', restorableUntil: before(-5_000) } },
    /can be restored until 2026-02-01T12:00:05/,
    /fairlead admin restore a\.one/,
  ],
  [
    'an expansion that is not done',
    { volume: { ...volume, pending: ['expansion'] } },
    /^the expansion of volume/,
  ],
  [
    'a snapshot that is not ready',
    { volume: undefined, snapshot },
    /^snapshot "a\.one" is taken but not ready to use$/,
  ],
  [
    'a detach that is not done, from a node that is gone',
    { volume: { ...volume, attachments: [{ ...attachment, state: 'detaching' }] }, unknownNodes: ['n1'] },
    /^volume "a\.one" is not detached from node "n1" of cluster "a" yet, and no gateway is working on that$/,
    /VolumeAttachment/,
  ],
  [
    'a fault that the storage reports',
    { health: { entries: [{ status: 'DATA_LOSS', reason: 'ImageMissing', message: 'it is away' }] } },
    /^the storage reports DATA_LOSS \(ImageMissing\): it is away$/,
  ],
  [
    'a cluster that is retired, for a volume',
    { cluster: { ...cluster, retiredSince: before(180_000) } },
    /^cluster "a" has been retired for 3m: its requests are refused, and it gets no volumes/,
    /fairlead admin retire-cluster a --end/,
  ],
  ['an invalid id', { ...none, id: 'one' }, /^"one" is not an id$/, /CLUSTER\.NAME/],
  ['a missing volume', none, /^there is neither a volume nor a snapshot "a\.one"$/],
  [
    'an id without a cluster',
    { ...none, cluster: undefined },
    /cluster "a" is not enrolled$/,
    /fairlead enroll a/,
  ],
];

test('explain names the retirement of a cluster as the cause of a missing volume, enrolled or not', () => {
  for (const isEnrolled of [true, false]) {
    const retired = { ...cluster, isEnrolled, retiredSince: before(180_000) };
    const [first, second] = explain({ ...none, cluster: retired });
    assert.match(first?.what ?? '', /^there is neither a volume nor a snapshot "a\.one"$/);
    assert.match(second?.what ?? '', /^cluster "a" has been retired for 3m: /);
  }
});

for (const [sentence, facts, what, todo] of rows)
  test(`explain names ${sentence} as the reason`, () => {
    const [first] = explain({ ...usual, ...facts });
    assert.equal(first?.isWaiting, true);
    assert.match(first.what, what);
    if (todo) assert.match(first.todo ?? '', todo);
  });

const silent: PoolState = {
  ...pool,
  id: 'slow',
  answers: false,
  outage: 'silent',
  failingSince: before(9_000),
  lastFailure: failure,
};
const full: ClusterState = { ...cluster, quotas: [{ path: 'bytes', limit: 2 ** 31, used: 2 ** 31 }] };
const refusal = { ...last, operation: 'create', about: 'slow', code: 'UNAVAILABLE' } as const;

const causes: readonly (readonly [sentence: string, facts: Partial<Facts>, what: RegExp])[] = [
  [
    'the pool that did not answer its create',
    { pools: [pool, silent, { ...silent, id: 'other' }], last: refusal },
    /^pool "slow": its storage does not answer; failing since .*; create failed at .* no route \(request r9\)$/,
  ],
  [
    'the quota that is used up, with its figures',
    { cluster: full, pools: [silent], last: { ...refusal, about: 'fast', code: 'RESOURCE_EXHAUSTED' } },
    /^cluster "a" has used up its quota \(bytes:2Gi\/2Gi\) and cannot create more$/,
  ],
  [
    'tokens that are refused, which keep all requests of its cluster away',
    {
      cluster: { ...full, lastSeenAt: before(600_000) },
      pools: [silent],
      refusedTokens: { cluster: 'a', count: 2, lastAt: before(9_000), detail: 'the token has expired' },
    },
    /^cluster "a": 2 tokens with its name were refused .* the last at \S+: the token has expired$/,
  ],
  [
    'a faulty key file, which makes its cluster refused',
    { cluster: { ...full, keyFaults: ['a.jwks.json: is not JSON'] }, pools: [silent] },
    /^tokens of cluster "a" are refused: a\.jwks\.json: is not JSON$/,
  ],
];

for (const [sentence, facts, what] of causes)
  test(`explain names ${sentence} as the cause of a missing volume, and no other`, () => {
    const [first, ...more] = explain({ ...none, ...facts });
    assert.equal(first?.todo, undefined);
    const [cause, ...others] = more.filter(({ isWaiting }) => isWaiting);
    assert.deepEqual(others, []);
    assert.match(cause?.what ?? '', what);
    assert.ok(cause?.todo);
  });

test('explain blames no failing pool for a request that the gateway refused for another reason', () => {
  for (const code of ['INVALID_ARGUMENT', 'RESOURCE_EXHAUSTED'] as const) {
    const advice = explain({ ...none, pools: [silent], last: { ...refusal, code } });
    assert.equal(advice.filter(({ isWaiting }) => isWaiting).length, 1);
  }
});

test("another operation's long call is a fact, and hides no other fact of the pool", () => {
  const removed = { ...pool, state: 'removed', totalBytes: 100, reservedBytes: 97 } as const;
  for (const [method, since] of [
    ['create', before(60_000)],
    ['attach', before(240_000)],
  ] as const) {
    const advice = explain({ ...usual, operation, pool: { ...removed, oldestCall: { method, since } } });
    assert.deepEqual(
      advice.map(({ isWaiting }) => isWaiting),
      [false, false, false, true],
    );
    assert.match(advice[0]?.what ?? '', new RegExp(`has not answered ${method} for `));
  }
});

test('without evidence, explain names no cause of a missing volume, and says what was checked', () => {
  const [first, checked, ...others] = explain({ ...none, pools: [pool, silent], cluster: full });
  assert.match(first?.todo ?? '', /^the audit log has no request for it: /);
  assert.deepEqual([checked?.isWaiting, others], [false, []]);
  assert.match(
    checked?.what ?? '',
    /^checked: cluster "a" has sent this gateway no request since its start; its keys have no faults; it has used up its quota \(bytes:2Gi\/2Gi\); pool "slow": its storage does not answer; failing since/,
  );
  const seen = { ...cluster, lastSeenAt: before(5_000) };
  // Its controller is accepted, so the refused token is another machine's.
  const refusedTokens = { cluster: 'a', count: 1, lastAt: before(9_000), detail: 'no such key' };
  const [, sound] = explain({ ...none, pools: [pool], cluster: seen, refusedTokens });
  assert.equal(
    sound?.what,
    'checked: cluster "a" was last seen 5s ago; its keys have no faults; its quotas leave room; its pools answer',
  );
});

const known: readonly (readonly [sentence: string, facts: Partial<Facts>, what: RegExp])[] = [
  [
    'that another node waits for this one to be detached',
    { volume: { ...volume, attachments: [attachment] } },
    /^volume "a\.one" is attached to node "n1" of cluster "a"$/,
  ],
  [
    'that the pool is nearly full',
    { pool: { ...pool, totalBytes: 100, reservedBytes: 97 } },
    /^97% of pool "fast" is reserved$/,
  ],
  ['that the pool was removed', { pool: { ...pool, state: 'removed' } }, /it takes no new volumes$/],
  [
    'that the quota is used up',
    { cluster: { ...cluster, quotas: [{ path: 'volumes', limit: 1, used: 1 }] } },
    /\(volumes:1\/1\) and cannot create more$/,
  ],
  [
    'the number of operations that wait for a slot',
    {
      queue: {
        id: 'fast/a',
        pool: 'fast',
        cluster: 'a',
        waiting: 3,
        running: 2,
        limit: 8,
        oldestWaitMs: 5_000,
      },
    },
    /^3 operations wait for a slot of cluster "a" at pool "fast", the first for 5s; 2 run$/,
  ],
  [
    'that a cluster has not agreed to a share',
    { volume: { ...volume, grants: [{ cluster: 'b', access: 'read-only', isAccepted: false }] } },
    /^volume "a\.one" is shared with cluster "b", which does not accept shares of cluster "a" and so/,
  ],
  [
    'that a cluster has not agreed to copies',
    { volume: { ...volume, copyGrants: [{ cluster: 'b', isAccepted: false }] } },
    /^the copies of volume "a\.one" are granted to cluster "b", which .* and so cannot copy it$/,
  ],
  ['the last refusal', { last }, /^the last call, attach \(n2\) by a 1m ago, ended with FAILED_PRECOND/],
  [
    'the number of similar refusals',
    { last: { ...last, count: 12 } },
    /forbids this \(12 such refusals of a in one hour\)$/,
  ],
];

for (const [sentence, facts, what] of known)
  test(`explain mentions ${sentence}, which blocks nothing that exists`, () => {
    const advice: readonly Advice[] = explain({ ...usual, ...facts });
    assert.deepEqual(
      advice.map(({ isWaiting }) => isWaiting),
      [false, false],
    );
    assert.equal(advice[0]?.what, 'volume "a.one" waits for nothing: it is ready');
    assert.match(advice[1]?.what ?? '', what);
  });
