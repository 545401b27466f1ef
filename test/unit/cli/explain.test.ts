import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnySnapshot, AnyVolume, ClusterState, PoolState } from '../../../src/api/admin.ts';
import { explain, type Advice, type Facts } from '../../../src/cli/explain.ts';

const nowMs = Date.parse('2026-02-01T12:00:00Z');
const before = (ms: number): string => new Date(nowMs - ms).toISOString();
const volume: AnyVolume = {
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
const snapshot: AnySnapshot = { ...volume, id: 'a.cut', volumeId: 'a.one', state: 'processing' };
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

/** What is known, and what is said first of it; it waits unless that is said. */
const rows: readonly (readonly [sentence: string, facts: Partial<Facts>, what: RegExp, todo?: RegExp])[] = [
  ['an operation that runs', { operation }, /^attach runs on volume "a\.one" for 3m, held by .* 0b7e8a1c$/],
  [
    'an operation whose holder has died',
    { operation: { ...operation, until: before(1) } },
    /which has not renewed its claim$/,
    /sweep within 15 s/,
  ],
  [
    'a pool that is not configured',
    { pool: undefined },
    /^its pool "fast" is not configured$/,
    /gateway\.yaml/,
  ],
  [
    'a pool whose storage is away',
    { pool: { ...pool, state: 'waiting', waitingFor: 'no route' } },
    /^its pool "fast" waits for its storage: no route$/,
  ],
  ['a storage that fails', { pool: { ...pool, fault: 'broken' } }, /has a fault: broken$/],
  [
    'a create that is not done',
    { volume: { ...volume, state: 'creating' } },
    /not created yet, and no gateway works/,
  ],
  [
    'a delete that is not done',
    { volume: { ...volume, state: 'deleting' } },
    /not deleted yet, and no gateway works/,
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
    /^snapshot "a\.one" is taken, and cannot be used/,
  ],
  [
    'a detach that is not done, from a node that is gone',
    { volume: { ...volume, attachments: [{ ...attachment, state: 'detaching' }] }, unknownNodes: ['n1'] },
    /^it is not detached from node "n1" of cluster "a" yet, and no gateway works on that now$/,
    /VolumeAttachment/,
  ],
  [
    'a fault that the storage reports',
    { health: { entries: [{ status: 'DATA_LOSS', reason: 'ImageMissing', message: 'it is away' }] } },
    /^its storage says DATA_LOSS \(ImageMissing\): it is away$/,
  ],
  ['an id that is none', { ...none, id: 'one' }, /^"one" is no id$/, /CLUSTER\.NAME/],
  ['what is nowhere', none, /^there is neither a volume nor a snapshot "a\.one"$/],
  [
    'what is of no cluster',
    { ...none, cluster: undefined },
    /no cluster "a" is enrolled$/,
    /fairlead enroll a/,
  ],
];

for (const [sentence, facts, what, todo] of rows)
  test(`${sentence} is what is waited for`, () => {
    const [first] = explain({ ...usual, ...facts });
    assert.equal(first?.isWaiting, true);
    assert.match(first.what, what);
    if (todo) assert.match(first.todo ?? '', todo);
  });

const known: readonly (readonly [sentence: string, facts: Partial<Facts>, what: RegExp])[] = [
  [
    'that another node waits for this one to be detached',
    { volume: { ...volume, attachments: [attachment] } },
    /^it is attached to node "n1" of cluster "a"$/,
  ],
  [
    'that the pool is nearly full',
    { pool: { ...pool, totalBytes: 100, reservedBytes: 97 } },
    /reserved to 97%$/,
  ],
  ['that the pool was removed', { pool: { ...pool, state: 'removed' } }, /nothing new is created in it$/],
  [
    'that the quota is used up',
    { cluster: { ...cluster, quotas: [{ path: 'volumes', limit: 1, used: 1 }] } },
    /\(volumes:1\/1\): it can create no more$/,
  ],
  [
    'how many wait for their turn at the pool',
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
    /^3 operations wait for a turn of cluster "a" at pool "fast", the first for 5s; 2 run$/,
  ],
  [
    'what was refused last',
    { last },
    /^last, attach \(n2\), which a asked for 1m ago, ended with FAILED_PRECOND/,
  ],
];

for (const [sentence, facts, what] of known)
  test(`it is told ${sentence}, which holds up nothing that is there`, () => {
    const advice: readonly Advice[] = explain({ ...usual, ...facts });
    assert.deepEqual(
      advice.map(({ isWaiting }) => isWaiting),
      [false, false],
    );
    assert.equal(advice[0]?.what, 'volume "a.one" waits for nothing: it is ready');
    assert.match(advice[1]?.what ?? '', what);
  });
