import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAdminSharing } from '../../../../gateway/admin/sharing.ts';
import { volumeTable } from '../../../../gateway/tables/volumes.ts';
import type { Cluster } from '../../../../gateway/callers/cluster.ts';
import { createPools } from '../../../../gateway/pools/pools.ts';
import { createVolume } from '../../../../gateway/volumes/create.ts';
import { openGateway, clusters, mounted, volumeSpec } from '../../../harness/gateway.ts';
import { waitingPool } from '../../../harness/gateway/waiting-pool.ts';
import { volumesIn } from '../../../harness/gateway/fixtures.ts';

const refused = { code: 'FAILED_PRECONDITION', detail: /^cluster "b" may not use pool "main"$/ };

test('no transfer or import brings a volume to a cluster that may not use its pool', async t => {
  const gateway = await openGateway(t, { volumes: ['one'], orphans: ['legacy'] });
  const pools = { b: ['other'] };
  const operators = createAdminSharing({
    ...gateway,
    clusters: (): Record<string, Cluster> => ({ a: clusters.a, b: { ...clusters.b, pools: pools.b } }),
  });
  const legacy = { pool: 'main', storageId: 'legacy', capabilities: [mounted], dryRun: false };
  const take = () => operators.importVolume({ volumeId: 'b.old', body: legacy });
  const transfer = () =>
    operators.transferVolume({ volumeId: 'a.one', body: { cluster: 'b', dryRun: false } });
  await assert.rejects(take(), refused);
  const unknown = operators.importVolume({ volumeId: 'b.old', body: { ...legacy, pool: 'gone' } });
  await assert.rejects(unknown, { code: 'INVALID_ARGUMENT', detail: /there is no pool "gone"$/ });
  await assert.rejects(transfer(), refused);
  const ids = (await volumeTable.select(gateway.engine.reader, {})).map(({ id }) => id);
  assert.deepEqual(ids, ['a.one']);
  assert.deepEqual(await volumesIn(gateway.backend), ['a.one', 'legacy']);
  pools.b.push('main');
  await take();
  await transfer();
  pools.b.pop();
  // A finished transfer is recognized.
  await take();
  await transfer();
});

test('a retry for a volume in a pool that is not open yet is UNAVAILABLE, although one pool is open', async t => {
  const gateway = await openGateway(t, { pools: ['main', 'far'] });
  const inFar = { ...volumeSpec('v'), parameters: { pool: 'far' } };
  assert.equal((await gateway.ask('PUT /v1/volumes/a.v', { body: inFar })).status, 201);
  const open = gateway.pools.all().filter(({ name }) => name === 'main');
  const waiting = new Map([['far', waitingPool('pool "far" is not open yet')]]);
  const pools = createPools(
    () => open,
    () => open,
    () => waiting,
  );
  const options = { ...gateway, pools, clusters: () => clusters };
  const retry = createVolume(options, { cluster: clusters.a, id: 'a.v', spec: volumeSpec('v') });
  await assert.rejects(retry, { code: 'UNAVAILABLE', detail: /^pool "far" is not open yet$/ });
});
