import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { HealthEntry } from '../../../../gateway/backend.ts';
import { clusters, openGateway, openMemory, type Gateway } from '../../../harness/gateway.ts';

const slow: HealthEntry = { status: 'DEGRADED', reason: 'DiskSlow', message: 'reads take long' };
const lost: HealthEntry = { status: 'DATA_LOSS', reason: 'DiskLost', message: 'a disk is gone' };

/** Makes volumes; every third is ill. */
async function makeIll(t: TestContext, count: number): Promise<Gateway> {
  const ill = new Map<string, readonly HealthEntry[]>();
  const volumeHealth = async ({ id }: { readonly id: string }): Promise<readonly HealthEntry[]> =>
    ill.get(id) ?? [];
  const gateway = await openGateway(t, { own: { volumeHealth } });
  for (let i = 0; i < count; i++) {
    const id = `a.pvc-${String(i).padStart(3, '0')}`;
    await gateway.create(id);
    if (i % 3 === 0) ill.set(id, [slow, lost, { ...slow, message: 'reported again' }]);
  }
  return gateway;
}

test('a healthy volume has no entries, and an ill one has each status and reason once', async t => {
  const { ask } = await makeIll(t, 2);
  for (const [volumeId, entries] of Object.entries({ 'a.pvc-001': [], 'a.pvc-000': [slow, lost] }))
    assert.deepEqual((await ask(`GET /v1/volumes/${volumeId}/health`)).body, { volumeId, entries });
});

test('the list has the ill volumes, page after page', async t => {
  const { ask, health } = await makeIll(t, 40);
  const all = await health.list(clusters.a, { limit: 1_000 });
  assert.equal(all.volumes.length, 14);
  assert.equal(all.nextPageToken, undefined);
  const seen: unknown[] = [];
  let pageToken: unknown = '';
  do {
    const { body } = await ask(`GET /v1/health/volumes?limit=4&pageToken=${String(pageToken)}`);
    const page = body['volumes'] as unknown[];
    assert.ok(page.length <= 4);
    seen.push(...page);
    pageToken = body['nextPageToken'];
  } while (pageToken !== undefined);
  assert.deepEqual(seen, all.volumes);
});

test('the list reaches volumes after a page of those in a pool that does not answer', async t => {
  const pools = {
    dead: { ...(await openMemory()), volumeHealth: () => Promise.reject(new Error('unreachable')) },
    ill: { ...(await openMemory()), volumeHealth: async () => [slow] },
  };
  const { create, health } = await openGateway(t, { pools });
  const make = (name: string, pool: string) => create(`a.${name}`, { parameters: { pool } });
  for (let group = 0; group < 10; group++)
    await Promise.all(Array.from({ length: 100 }, (_, index) => make(`dead-${group}-${index}`, 'dead')));
  await make('ill', 'ill');
  const { volumes: none, nextPageToken } = await health.list(clusters.a, { limit: 9 });
  assert.deepEqual(none, []);
  const { volumes: ill } = await health.list(clusters.a, { limit: 9, pageToken: nextPageToken });
  assert.deepEqual(ill, [{ volumeId: 'a.ill', entries: [slow] }]);
});

test('volumes of other pools are listed while one pool does not answer', async t => {
  const pools = {
    dead: { ...(await openMemory()), volumeHealth: () => Promise.reject(new Error('unreachable')) },
    ill: { ...(await openMemory()), volumeHealth: async () => [slow] },
  };
  const { create, volumes, health } = await openGateway(t, { pools });
  for (const pool of ['dead', 'ill'] as const) await create(`a.${pool}`, { parameters: { pool } });
  const list = () => health.list(clusters.a, { limit: 9 });
  assert.deepEqual(await list(), { volumes: [{ volumeId: 'a.ill', entries: [slow] }] });
  await volumes.delete(clusters.a, 'a.ill');
  await assert.rejects(list(), { code: 'UNAVAILABLE' });
});

test('a pool that does not answer is asked about few of its volumes for a page', async t => {
  let asked = 0;
  const volumeHealth = (): Promise<never> => {
    asked += 1;
    return Promise.reject(new Error('unreachable'));
  };
  const pools = { dead: { ...(await openMemory()), volumeHealth }, well: await openMemory() };
  const { create, health } = await openGateway(t, { pools });
  for (let index = 0; index < 100; index++) await create(`a.dead-${index}`, { parameters: { pool: 'dead' } });
  await create('a.well', { parameters: { pool: 'well' } });
  assert.deepEqual(await health.list(clusters.a, { limit: 9 }), { volumes: [] });
  assert.ok(asked < 20, `${asked} of 100`);
});
