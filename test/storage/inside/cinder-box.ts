// Runs beside Ceph for `test/storage/cinder-nodes.test.ts`: Cinder on the cluster, and a gateway with a pool over
// examples/cinder, for nodes on separate machines.

import { startCinder } from '../../cinder/cinder.ts';
import { openPool } from '../../cinder/pool.ts';
import { serveOrders, servantScope } from '../../vm/fleet/orders.ts';
import { images, watchers } from './cluster.ts';

const [root = ''] = process.argv.slice(2);

await serveOrders(3, {
  ...(await openPool(root, await startCinder(servantScope, root))),
  /** Lists the clients that have an image open. */
  left: async () => images().flatMap(watchers),
  /** Lists the images of volumes. */
  images: async () => images(),
});
