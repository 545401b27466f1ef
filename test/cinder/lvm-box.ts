// Runs beside Cinder for `test/storage/cinder-lvm.test.ts`: a gateway with a pool over examples/cinder.

import { setTimeout as sleep } from 'node:timers/promises';
import { connectCinder } from '../../examples/cinder/cinder.ts';
import { serveOrders } from '../vm/fleet/orders.ts';
import { openPool } from './box.ts';

const [root = ''] = process.argv.slice(2);
const cinder = connectCinder(process.env);
const pools = async (): Promise<readonly unknown[]> =>
  ((await cinder.send('GET', '/scheduler-stats/get_pools')) as { readonly pools: readonly unknown[] }).pools;
// Cinder places volumes once its driver has told the free space. A busy machine's Keystone may miss a time limit before.
while ((await pools().catch(() => [])).length === 0) await sleep(2_000);
await serveOrders(3, openPool(root, process.env));
