import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TakenVolume } from '../../../../gateway/backend.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { createImport } from '../../../../gateway/sharing/import.ts';
import { assertProblem, clusters, mounted, openGateway, volumeSpec } from '../../../harness/gateway.ts';

const existing = { driver: 'old.example', handle: 'vol-1', context: { tier: 'a' } };
const sizeBytes = 2 ** 20;
const body = { pool: 'main', existing, sizeBytes };
const route = 'PUT /v1/admin/imports/a.old';

test('the storage takes over a volume of a driver under one id, and no cluster can ask for that', async t => {
  const taken: TakenVolume[] = [];
  const gateway = await openGateway(t, {
    own: () => ({
      take: async volume => {
        taken.push(volume);
        return { sizeBytes: volume.sizeBytes };
      },
    }),
  });
  const ask = (change: object = {}) => gateway.ask(route, { as: 'operator', body: { ...body, ...change } });
  assert.equal((await ask({ dryRun: true })).status, 200);
  assertProblem(await ask({ sizeBytes: 0 }), 400, 'INVALID_ARGUMENT');
  assertProblem(await ask({ storageId: 'old' }), 400, 'INVALID_ARGUMENT');
  const spec = { ...volumeSpec('v'), existing };
  assertProblem(await gateway.ask('PUT /v1/volumes/a.v', { body: spec }), 400, 'INVALID_ARGUMENT');
  assert.equal(taken.length, 0);
  for (const _ of ['once', 'again'])
    assert.partialDeepStrictEqual((await ask()).body, { volume: { id: 'a.old', state: 'ready', sizeBytes } });
  assert.partialDeepStrictEqual(taken, [{ id: 'a.old', existing, sizeBytes }]);
  // The storage is asked each time, since an earlier import may have ended before.
  assert.equal(taken.length, 2);
  assertProblem(await ask({ existing: { ...existing, handle: 'vol-2' } }), 409, 'ALREADY_EXISTS');
});

test('a volume is recorded before the storage takes it over, and stays recorded unless that is refused', async t => {
  const answers = ['UNAVAILABLE', 'NOT_FOUND', 'NOT_FOUND'] as const;
  const left = [...answers];
  const gateway = await openGateway(t, {
    own: () => ({
      async take({ sizeBytes: size }) {
        const code = left.shift();
        if (code) throw new Problem(code, 'not now');
        return { sizeBytes: size };
      },
    }),
  });
  const ask = (name: string) =>
    gateway.ask(`PUT /v1/admin/imports/a.${name}`, {
      as: 'operator',
      body: { ...body, existing: { ...existing, handle: name } },
    });
  const read = async (name: string) => (await gateway.ask(`GET /v1/volumes/a.${name}`)).status;
  assert.equal((await ask('lost')).status, 503);
  assert.equal(await read('lost'), 200);
  // Another import may have succeeded before, so this refusal removes nothing.
  assert.equal((await ask('lost')).status, 404);
  assert.equal(await read('lost'), 200);
  assert.equal((await ask('refused')).status, 404);
  assert.equal(await read('refused'), 404);
  for (const name of ['lost', 'refused']) assert.equal((await ask(name)).status, 200);
});

test("a driver's volume may have more keys of topology than the pool's locations", async t => {
  const taken: TakenVolume[] = [];
  const gateway = await openGateway(t, {
    own: () => ({
      topologies: [{ 'example/zone': 'a' }, { 'example/zone': 'b' }],
      take: async volume => {
        taken.push(volume);
        return { sizeBytes: volume.sizeBytes };
      },
    }),
  });
  const ask = (topology: object) => gateway.ask(route, { as: 'operator', body: { ...body, topology } });
  assertProblem(await ask({ 'example/zone': 'c', 'example/os': 'linux' }), 400, 'INVALID_ARGUMENT');
  const segments = { 'example/zone': 'b', 'example/os': 'linux' };
  assert.equal((await ask(segments)).status, 200);
  assert.partialDeepStrictEqual(taken, [{ segments }]);
});

test('a volume beyond the quota is not taken over, and a pool without a driver takes none', async t => {
  const gateway = await openGateway(t, {
    own: () => ({ take: () => assert.fail('the storage was asked') }),
  });
  const cluster = { ...clusters.a, quota: { bytes: sizeBytes - 1 } };
  const capabilities = [mounted];
  const request = { ...body, cluster, capabilities, volumeId: 'a.old', storageId: 'a.old' };
  await assert.rejects(createImport(gateway).importVolume(request), { code: 'RESOURCE_EXHAUSTED' });
  const other = await openGateway(t);
  assertProblem(await other.ask(route, { as: 'operator', body }), 501, 'UNIMPLEMENTED');
});
