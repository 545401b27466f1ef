import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewSnapshot } from '../../../../gateway/backend.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { assertProblem, clusters, openGateway, volumeSpec } from '../../../harness/gateway.ts';
import { snapshotsIn } from '../../../harness/gateway/fixtures.ts';

const { a } = clusters;
const volumeId = 'a.pvc-1';
const id = 'a.snap-1';
const spec = { name: 'snap-1', volumeId };

test('a snapshot has the size of its volume at that time, and outlives it', async t => {
  const { snapshots, changes, volumes } = await openGateway(t, { volumes: ['pvc-1'] });
  const { snapshot } = await snapshots.create(a, id, spec);
  assert.equal(snapshot.sizeBytes, 2 ** 20);
  assert.ok(Math.abs(Date.parse(snapshot.createdAt) - Date.now()) < 10_000);
  await changes.expand(a, volumeId, { requiredBytes: 5 * 2 ** 20 });
  const larger = await snapshots.create(a, 'a.snap-2', { ...spec, name: 'snap-2' });
  assert.equal(larger.snapshot.sizeBytes, 5 * 2 ** 20);
  await volumes.delete(a, volumeId);
  assert.deepEqual(await snapshots.get(a, id), snapshot);
  assert.deepEqual((await snapshots.create(a, id, spec)).snapshot, snapshot);
});

test('the storage learns whether a node may write meanwhile', async t => {
  const reported: boolean[] = [];
  const { snapshot, attach, detach } = await openGateway(t, {
    own: ({ snapshots: all }) => ({
      snapshots: {
        ...all,
        create(cut: NewSnapshot) {
          reported.push(cut.attachedForWriting);
          return all.create(cut);
        },
      },
    }),
    volumes: ['pvc-1'],
  });
  for (const [name, readonly] of [
    ['none', undefined],
    ['reader', true],
    ['writer', false],
  ] as const) {
    if (readonly !== undefined) await attach(volumeId, 'n1', { readonly });
    await snapshot(`a.${name}`, volumeId);
    await detach(volumeId);
  }
  assert.deepEqual(reported, [false, false, true]);
});

test('a snapshot of a volume that is not ready is ABORTED', async t => {
  const { snapshots, volumes, backend } = await openGateway(t, { volumes: ['pvc-1'] });
  backend.failNext('create', 'before', new Error('unreachable'));
  await assert.rejects(volumes.create(a, 'a.half', volumeSpec('half')));
  const work = snapshots.create(a, id, { ...spec, volumeId: 'a.half' });
  await assert.rejects(work, { code: 'ABORTED', detail: /"a.half" is not ready: it is creating/ });
  await assert.rejects(snapshots.get(a, id), { code: 'NOT_FOUND' });
});

test("a list has pages, of all snapshots or of one volume's", async t => {
  const { ask, snapshots } = await openGateway(t, { volumes: ['pvc-1', 'pvc-2'] });
  for (let i = 0; i < 6; i++) {
    const source = i % 2 === 0 ? volumeId : 'a.pvc-2';
    await snapshots.create(a, `a.snap-${i}`, { name: `snap-${i}`, volumeId: source });
  }
  const counts = { '': 6, '&volumeId=a.pvc-2': 3, '&volumeId=a.never': 0, '&volumeId=b.pvc-1': 0 };
  for (const [filter, count] of Object.entries(counts)) {
    const seen: string[] = [];
    let pageToken: unknown = '';
    do {
      const { body } = await ask(`GET /v1/snapshots?limit=2&pageToken=${String(pageToken)}${filter}`);
      const page = body['snapshots'] as { id: string }[];
      assert.ok(page.length <= 2);
      seen.push(...page.map(snapshot => snapshot.id));
      pageToken = body['nextPageToken'];
    } while (pageToken !== undefined);
    assert.deepEqual([seen.length, new Set(seen).size], [count, count]);
  }
  const { body } = await ask('GET /v1/volumes?limit=1');
  const token = String(body['nextPageToken']);
  assertProblem(await ask(`GET /v1/snapshots?pageToken=${token}`), 409, 'ABORTED');
});

test('a final failure that cannot be undone is not reported as final, and is finished by a sweep', async t => {
  const { snapshots, backend, recovery } = await openGateway(t, { volumes: ['pvc-1'] });
  backend.failNext('snapshot', 'after', new Problem('INTERNAL', 'broken'));
  backend.failNext('snapshot-delete', 'before', new Problem('FAILED_PRECONDITION', 'it is in use'));
  await assert.rejects(snapshots.create(a, id, spec), { code: 'UNAVAILABLE' });
  assert.deepEqual(await snapshotsIn(backend), [id]);
  await recovery.sweep();
  assert.deepEqual(await snapshotsIn(backend), []);
  assert.equal((await snapshots.create(a, id, spec)).snapshot.state, 'ready');
});

test('a deletion that the storage refuses changes nothing', async t => {
  const { snapshots, backend } = await openGateway(t, { volumes: ['pvc-1'] });
  const { snapshot } = await snapshots.create(a, id, spec);
  backend.failNext('snapshot-delete', 'before', new Problem('FAILED_PRECONDITION', 'it is in use'));
  await assert.rejects(snapshots.delete(a, id), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(await snapshots.get(a, id), snapshot);
});

test('a member cannot be deleted alone, but can become a volume, which it then stays for', async t => {
  const { groups, snapshots, volumes, backend } = await openGateway(t, { volumes: ['pvc-1'] });
  const { group } = await groups.create(a, 'a.group', { name: 'group', volumeIds: [volumeId] });
  const member = group.snapshots[0]?.id ?? '';
  const alone = { code: 'INVALID_ARGUMENT', detail: /belongs to group "a.group"/ };
  await assert.rejects(snapshots.delete(a, member), alone);
  const named = { name: 'group', volumeId };
  await assert.rejects(snapshots.create(a, member, named), { code: 'ALREADY_EXISTS' });
  const source = { kind: 'snapshot', snapshotId: member } as const;
  backend.failNext('create', 'before', new Error('unreachable'));
  await assert.rejects(volumes.create(a, 'a.copy', volumeSpec('copy', { source })));
  await assert.rejects(groups.delete(a, 'a.group'), { code: 'FAILED_PRECONDITION' });
  await volumes.create(a, 'a.copy', volumeSpec('copy', { source }));
  await groups.delete(a, 'a.group');
});

test('a backend without groups answers UNIMPLEMENTED, and still has snapshots', async t => {
  const gateway = await openGateway(t, {
    own({ snapshots: { createGroup, ...snapshots } }) {
      assert.ok(createGroup);
      return { snapshots };
    },
    volumes: ['pvc-1'],
  });
  const body = { name: 'group', volumeIds: [volumeId] };
  assertProblem(await gateway.ask('PUT /v1/groups/a.group', { body }), 501, 'UNIMPLEMENTED');
  await gateway.snapshots.create(a, id, spec);
});
