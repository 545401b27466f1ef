import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTenancy } from '../../../../gateway/admin/tenancy.ts';
import { volumeTable } from '../../../../gateway/tables/volumes.ts';
import type { Cluster } from '../../../../gateway/callers/cluster.ts';
import { openGateway, clusters, mounted } from '../../../harness/gateway/gateway.ts';
import { isProblemThat } from '../../../harness/gateway/problems.ts';
import { volumesIn } from '../../../harness/gateway/fixtures.ts';

const refused = isProblemThat('FAILED_PRECONDITION', /^cluster "b" may not use pool "main"$/);

test('no transfer or import brings a volume to a cluster that may not use its pool', async t => {
  const gateway = await openGateway(t, { volumes: ['one'], orphans: ['legacy'] });
  const pools = { b: ['other'] };
  const tenancy = createTenancy({
    ...gateway,
    clusters: (): Record<string, Cluster> => ({ a: clusters.a, b: { ...clusters.b, pools: pools.b } }),
  });
  const legacy = { pool: 'main', storageId: 'legacy', capabilities: [mounted] };
  const take = () => tenancy.importVolume({ volumeId: 'b.old', body: legacy });
  const transfer = () => tenancy.transferVolume({ volumeId: 'a.one', body: { cluster: 'b' } });
  await assert.rejects(take(), refused);
  const unknown = tenancy.importVolume({ volumeId: 'b.old', body: { ...legacy, pool: 'gone' } });
  await assert.rejects(unknown, isProblemThat('INVALID_ARGUMENT', /there is no pool "gone"$/));
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
