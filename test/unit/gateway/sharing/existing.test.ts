import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TakenVolume } from '../../../../gateway/backend.ts';
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
  assert.equal(taken.length, 1);
  assertProblem(await ask({ existing: { ...existing, handle: 'vol-2' } }), 409, 'FAILED_PRECONDITION');
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
