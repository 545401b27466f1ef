import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { StorageClient } from '../../../src/api/client.ts';
import {
  allOperations,
  problemsOf,
  type Input,
  type OperationId,
  type Operations,
} from '../../../src/api/operations.ts';
import { problemTable, type ProblemCode } from '../../../src/api/problem.ts';
import {
  json,
  problem,
  sampleGroup,
  sampleSnapshot,
  sampleVolume,
  type Step,
} from '../../fakes/storage-api.ts';
import { attachment } from '../../harness/controller.ts';
import { scripted, within } from './calling.ts';

/** A request, its correct answer (none for a deletion), and faults of the answer by the error that they cause. */
type Row<Id extends OperationId> = {
  readonly asked: Input<Operations[Id]>;
  readonly right?: object;
  readonly wrong?: Readonly<Record<string, object>>;
};

const volumeId = 'a.pvc-1';
const [snapshotId, groupId, nodeId] = ['a.snap-1', 'a.group-1', 'n1'];
const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
const source = { kind: 'volume', volumeId: 'a.source' } as const;
const bounds = { requiredBytes: 1_000_000, limitBytes: 2_000_000 };
const others = { 'id is "a.other", not': { id: 'a.other' } };
const notReady = {
  'state is "creating", not "ready"': { state: 'creating' },
  'state is "deleting", not "ready"': { state: 'deleting' },
};
const sizes = {
  'sizeBytes is 0': { sizeBytes: 0 },
  'sizeBytes is 999999': { sizeBytes: 999_999 },
  'sizeBytes is 2000001': { sizeBytes: 2_000_001 },
};
const notCut = { 'state is "creating"': { state: 'creating' }, 'sizeBytes is 0': { sizeBytes: 0 } };
const attached = { volumeId, nodeId, state: 'attached', readonly: false, attachment };
const elsewhere = {
  'volumeId is "a.other"': { volumeId: 'a.other' },
  'nodeId is "n2"': { nodeId: 'n2' },
  'state is "attaching"': { state: 'attaching' },
  'readonly is true': { readonly: true },
  'attachment.readonly is true': { attachment: { ...attachment, readonly: true } },
  'attachment.readonly is undefined': { attachment: undefined },
  'sizeBytes is 0': { attachment: { ...attachment, sizeBytes: 0 } },
};
const group = sampleGroup();
const [first = assert.fail(), second = assert.fail()] = group.snapshots;
const strangers = {
  'groupId is "a.other", not': { snapshots: [first, { ...second, groupId: 'a.other' }] },
  'groupId is undefined, not': { snapshots: [first, { ...second, groupId: undefined }] },
};
const asPage = { limit: 2, pageToken: 'here' };
const endless = { 'nextPageToken is its own': { nextPageToken: 'here' } };
const blocks = [
  { offset: 0, length: 20 },
  { offset: 30, length: 10 },
];

const grantee = 'b';
const grant = { volumeId, grantee };
const access = 'read-only' as const;
const granted = {
  asked: { ...grant, body: { access } },
  right: { volumeId, cluster: 'b', access },
  wrong: {
    'volumeId is "a.other", not "a.pvc-1"': { volumeId: 'a.other' },
    'cluster is "c", not "b"': { cluster: 'c' },
    'access is "read-write", not "read-only"': { access: 'read-write' },
  },
};
/** Faults of an answer about a volume that the cluster received, given a correct answer. */
const notOwned = (right: object) => ({
  'state is "deleting", not "ready"': { volume: { ...right, state: 'deleting' } },
  'id is "c.pvc-1"': { volume: { ...right, id: 'c.pvc-1' } },
  'sizeBytes is 0': { volume: { ...right, sizeBytes: 0 } },
});
const [transferred, imported] = [sampleVolume({ id: 'b.pvc-1' }), sampleVolume({ pool: 'main' })];

const rows: { readonly [Id in OperationId]: Row<Id> } = {
  getCapabilities: {
    asked: {},
    right: { version: '1', accessModes: [], accessTypes: [], features: [], pools: [] },
  },
  getCapacity: { asked: { body: {} }, right: { availableBytes: 0 } },
  listVolumes: {
    asked: asPage,
    right: { volumes: [sampleVolume(), sampleVolume()] },
    wrong: { '3 entries': { volumes: Array(3).fill(sampleVolume()) }, ...endless },
  },
  createVolume: {
    asked: { volumeId, body: { name: 'pvc-1', capabilities: [capability], source, ...bounds } },
    right: sampleVolume({ source }),
    wrong: {
      ...others,
      ...notReady,
      ...sizes,
      'name is "pvc-2"': { name: 'pvc-2' },
      'source is undefined': { source: undefined },
      'source is \\{"kind":"volume","volumeId":"a.b"': { source: { ...source, volumeId: 'a.b' } },
    },
  },
  getVolume: { asked: { volumeId }, right: sampleVolume(), wrong: others },
  deleteVolume: { asked: { volumeId } },
  validateVolume: { asked: { volumeId, body: { capabilities: [capability] } }, right: { confirmed: false } },
  expandVolume: {
    asked: { volumeId, body: bounds },
    right: sampleVolume(),
    wrong: { ...others, ...notReady, ...sizes },
  },
  modifyVolume: {
    asked: { volumeId, body: { mutableParameters: { tier: 'fast' } } },
    right: sampleVolume(),
    wrong: { ...others, ...notReady },
  },
  getVolumeHealth: {
    asked: { volumeId },
    right: { volumeId, entries: [] },
    wrong: { 'volumeId is "a.other"': { volumeId: 'a.other' } },
  },
  listVolumeHealth: { asked: asPage, right: { volumes: [] }, wrong: endless },
  attachVolume: {
    asked: { volumeId, nodeId, body: { capability, readonly: false } },
    right: attached,
    wrong: elsewhere,
  },
  getAttachment: {
    asked: { volumeId, nodeId },
    right: { ...attached, state: 'attaching', attachment: undefined },
    wrong: { 'volumeId is "a.other"': { volumeId: 'a.other' }, 'nodeId is "n2"': { nodeId: 'n2' } },
  },
  detachVolume: { asked: { volumeId, nodeId } },
  detachVolumeFromAllNodes: { asked: { volumeId } },
  listSnapshots: {
    asked: { ...asPage, volumeId },
    right: { snapshots: [sampleSnapshot()] },
    wrong: {
      ...endless,
      'volumeId is "a.other"': { snapshots: [sampleSnapshot({ volumeId: 'a.other' })] },
    },
  },
  createSnapshot: {
    asked: { snapshotId, body: { name: 'snap-1', volumeId } },
    right: sampleSnapshot({ state: 'processing' }),
    wrong: {
      ...others,
      ...notCut,
      'name is "snap-2"': { name: 'snap-2' },
      'volumeId is "a.other"': { volumeId: 'a.other' },
    },
  },
  getSnapshot: {
    asked: { snapshotId },
    right: sampleSnapshot({ state: 'creating', sizeBytes: 0 }),
    wrong: others,
  },
  deleteSnapshot: { asked: { snapshotId } },
  listBlocks: {
    asked: { snapshotId, offset: 10, limit: 2 },
    right: { sizeBytes: 100, blocks, nextOffset: 40 },
    wrong: {
      '3 blocks': { blocks: [...blocks, { offset: 50, length: 1 }], nextOffset: 60 },
      'the block at 0 is out of order': { blocks: [{ offset: 0, length: 10 }] },
      'the block at 19 is out of order': { blocks: [blocks[0], { offset: 19, length: 20 }] },
      'nextOffset is 39': { nextOffset: 39 },
      'nextOffset is 10': { blocks: [], nextOffset: 10 },
      'more than its 39 bytes': { sizeBytes: 39 },
      'more than its 50 bytes': { sizeBytes: 50, nextOffset: 51 },
    },
  },
  createGroup: {
    asked: { groupId, body: { name: 'group-1', volumeIds: ['a.two', 'a.one'] } },
    right: group,
    wrong: {
      ...others,
      ...strangers,
      'name is "group-2"': { name: 'group-2' },
      'volumes is \\["a.one"\\]': { snapshots: [first] },
      'volumes is \\["a.one","a.one"\\]': { snapshots: [first, first] },
      'state is "deleting"': { snapshots: [first, { ...second, state: 'deleting' }] },
    },
  },
  getGroup: { asked: { groupId }, right: group, wrong: { ...others, ...strangers } },
  deleteGroup: { asked: { groupId } },
  listNodes: { asked: asPage, right: { nodes: [] }, wrong: endless },
  putNode: { asked: { nodeId, body: {} }, right: { id: nodeId }, wrong: others },
  getNode: { asked: { nodeId }, right: { id: nodeId }, wrong: others },
  detachDeadNode: { asked: { nodeId } },
  deleteNode: { asked: { nodeId } },
  getStatus: {
    asked: {},
    right: {
      version: '1',
      startedAt: '2026-01-31T12:00:00.000Z',
      clockSkewMs: 0,
      configurationFaults: [],
      keyFaults: [],
      store: { answers: true, answerMs: 1 },
      refusedTokens: [],
      missingNodes: [],
      check: { total: 0, findings: [] },
    },
  },
  check: { asked: {}, right: { findings: [], total: 0 } },
  repair: { asked: { body: {} }, right: { steps: [], total: 0 } },
  listDeletedVolumes: { asked: asPage, right: { volumes: [] }, wrong: endless },
  listAllVolumes: { asked: asPage, right: { volumes: [] }, wrong: endless },
  getAdminVolumeHealth: {
    asked: { volumeId },
    right: { volumeId, entries: [] },
    wrong: { 'volumeId is "a.other"': { volumeId: 'a.other' } },
  },
  listAllSnapshots: { asked: asPage, right: { snapshots: [] }, wrong: endless },
  listAllAttachments: { asked: asPage, right: { attachments: [] }, wrong: endless },
  listAllNodes: { asked: asPage, right: { nodes: [] }, wrong: endless },
  listPools: { asked: asPage, right: { pools: [] }, wrong: endless },
  listClusters: { asked: asPage, right: { clusters: [] }, wrong: endless },
  listOperations: { asked: asPage, right: { operations: [] }, wrong: endless },
  listQueues: { asked: asPage, right: { queues: [] }, wrong: endless },
  restoreVolume: { asked: { volumeId } },
  detachNode: {
    asked: { cluster: 'a', nodeId, body: {} },
    right: { attachments: [{ volumeId, state: 'attached', readonly: false }], total: 1, isCutOff: true },
  },
  detachAdminVolume: {
    asked: { volumeId, body: {} },
    right: {
      attachments: [{ cluster: 'a', nodeId, state: 'attached', readonly: false }],
      isCutOff: true,
    },
  },
  drainPool: { asked: { pool: 'main', body: {} }, right: { isDrained: true, left: [] } },
  retireCluster: {
    asked: { cluster: 'a', body: {} },
    right: { isRetired: true, steps: [], total: 0, failed: 0, snapshots: 0 },
  },
  deleteAdminVolume: { asked: { volumeId, body: {} }, right: { outcome: 'deleted' } },
  deleteAdminSnapshot: { asked: { snapshotId, body: {} }, right: { snapshots: [snapshotId] } },
  deleteAdminGroup: { asked: { groupId, body: {} }, right: { snapshots: [snapshotId] } },
  grantVolume: granted,
  revokeGrant: { asked: grant },
  grantAdminVolume: granted,
  revokeAdminGrant: { asked: grant },
  grantVolumeCopies: { asked: { volumeId, grantee }, right: { cluster: grantee, sources: [] } },
  revokeVolumeCopies: { asked: { volumeId, grantee } },
  grantSnapshotCopies: { asked: { snapshotId, grantee }, right: { cluster: grantee, sources: [] } },
  revokeSnapshotCopies: { asked: { snapshotId, grantee } },
  grantGroupCopies: { asked: { groupId, grantee }, right: { cluster: grantee, sources: [] } },
  revokeGroupCopies: { asked: { groupId, grantee } },
  grantAdminVolumeCopies: { asked: { volumeId, grantee }, right: { cluster: grantee, sources: [] } },
  revokeAdminVolumeCopies: { asked: { volumeId, grantee } },
  grantAdminSnapshotCopies: { asked: { snapshotId, grantee }, right: { cluster: grantee, sources: [] } },
  revokeAdminSnapshotCopies: { asked: { snapshotId, grantee } },
  grantAdminGroupCopies: { asked: { groupId, grantee }, right: { cluster: grantee, sources: [] } },
  revokeAdminGroupCopies: { asked: { groupId, grantee } },
  transferVolume: {
    asked: { volumeId, body: { cluster: 'b' } },
    right: { volume: transferred, capabilities: [] },
    wrong: { ...notOwned(transferred), 'id is "b.other"': { volume: { ...transferred, id: 'b.other' } } },
  },
  importVolume: {
    asked: { volumeId, body: { pool: 'main' } },
    right: { volume: imported, capabilities: [] },
    wrong: {
      ...notOwned(imported),
      'pool is "other", not "main"': { volume: { ...imported, pool: 'other' } },
    },
  },
  listAuditLog: { asked: asPage, right: { entries: [] }, wrong: endless },
  listHistory: { asked: asPage, right: { minutes: [] }, wrong: endless },
};

/** Answers that no operation gives when it is done. */
const never: Readonly<Record<string, Step>> = {
  '{}': json(200, {}),
  null: json(200, null),
  'a problem that comes with 200': problem('NOT_FOUND', 'there is no volume "a.pvc-1"', 200),
  'a page': { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' },
  'an empty body': { status: 200 },
  'another status': json(206, sampleVolume()),
};

for (const operation of allOperations) {
  const { asked, right, wrong = {} }: Row<OperationId> = rows[operation.id];
  test(`${operation.id} is done when its own answer says so`, async t => {
    const done = right ? json(200, right) : { status: 204 };
    assert.deepEqual(await outcome(t, operation.id, { asked, steps: [done] }), withoutUndefined(right));
  });
  const other = { 'the answer of others': right ? { status: 204 } : json(200, sampleVolume()) };
  for (const [name, step] of Object.entries({ ...never, ...other }))
    test(`${operation.id} rejects ${name} as an answer`, async t => {
      await assert.rejects(outcome(t, operation.id, { asked, steps: [step] }), { code: 'UNAVAILABLE' });
    });
  for (const [says, change] of Object.entries(wrong))
    test(`${operation.id} rejects a malformed answer: ${says}`, async t => {
      const step = json(200, { ...right, ...change });
      const found = outcome(t, operation.id, { asked, steps: [step] });
      await assert.rejects(found, { code: 'UNAVAILABLE', detail: new RegExp(`malformed answer .*${says}`) });
    });
}

/** The resources of the paths, during an operation on them. */
const underWay: Readonly<Record<string, object>> = {
  volumeId: sampleVolume({ state: 'creating' }),
  nodeId: { volumeId, nodeId, state: 'attaching', readonly: false },
  snapshotId: sampleSnapshot({ state: 'creating' }),
  groupId: group,
};
for (const operation of allOperations.filter(({ answers }) => answers[202])) {
  const { asked, right }: Row<OperationId> = rows[operation.id];
  const named = operation.path.match(/(?<=\{)\w+/g) ?? [];
  const shown = underWay[named.at(-1) ?? ''];
  const done = right ? json(200, right) : { status: 204 };
  test(`${operation.id} waits for its own resource, and for no other`, async t => {
    for (const step of [json(202, shown), { status: 202 }])
      await outcome(t, operation.id, { asked, steps: [step, done] });
    for (const name of named) {
      const key = shown && name in shown ? name : 'id';
      const step = json(202, { ...shown, [key]: 'a.other' });
      const detail = new RegExp(`malformed answer .*${key} is "a.other"`);
      await assert.rejects(outcome(t, operation.id, { asked, steps: [step, done] }), {
        code: 'UNAVAILABLE',
        detail,
      });
    }
  });
}

for (const operation of allOperations)
  test(`${operation.id} accepts a code that ends retries only if it is one of its own`, async t => {
    const { asked } = rows[operation.id];
    const known = problemsOf(operation);
    for (const [code, { http, final }] of Object.entries(problemTable)) {
      if (!final || http === 401 || http === 403) continue;
      const expected = known.includes(code as ProblemCode) ? code : 'UNAVAILABLE';
      const step = problem(code as ProblemCode, 'as it is', http);
      await assert.rejects(outcome(t, operation.id, { asked, steps: [step] }), {
        code: expected,
        detail: /as it is\)?$/,
      });
    }
  });

test('a volume is transferred under the requested name', async t => {
  const asked = { volumeId, body: { cluster: 'b', name: 'mine' } };
  const [right, wrong] = ['b.mine', 'b.pvc-1'].map(id =>
    json(200, { volume: { ...transferred, id }, capabilities: [] }),
  );
  assert.ok(right && wrong);
  await outcome(t, 'transferVolume', { asked, steps: [right] });
  const refused = outcome(t, 'transferVolume', { asked, steps: [wrong] });
  await assert.rejects(refused, { code: 'UNAVAILABLE' });
});

test('a read-only attachment must be read-only in the answer', async t => {
  const readers = { ...capability, accessMode: 'MULTI_NODE_READER_ONLY' } as const;
  for (const body of [
    { capability, readonly: true },
    { capability: readers, readonly: false },
  ]) {
    const asked = { volumeId, nodeId, body };
    const right = { ...attached, readonly: true, attachment: { ...attachment, readonly: true } };
    await outcome(t, 'attachVolume', { asked, steps: [json(200, right)] });
    for (const wrong of [attached, { ...right, attachment }])
      await assert.rejects(outcome(t, 'attachVolume', { asked, steps: [json(200, wrong)] }), {
        code: 'UNAVAILABLE',
      });
  }
});

type ScriptedRequest = { readonly asked: unknown; readonly steps: readonly Step[] };

async function outcome(t: TestContext, id: OperationId, { asked, steps }: ScriptedRequest): Promise<unknown> {
  const { client } = await scripted(t, steps);
  const call = client[id] as (input: unknown, call: object) => ReturnType<StorageClient[OperationId]>;
  return call(asked, within());
}

function withoutUndefined(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
