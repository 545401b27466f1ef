// Runs beside Ceph for `test/storage/ceph-nodes.test.ts`: a gateway with pools in the cluster, for nodes on separate
// machines.

import { createHash } from 'node:crypto';
import { openGateway } from '../../vm/fleet/gateway.ts';
import { serveOrders } from '../../vm/fleet/orders.ts';
import { contentOf, imageOf, images, requireNothingLeft, run, settings, users, watchers } from './cluster.ts';
import { requireNoShares, shareSettings } from './filesystem.ts';

const [root = ''] = process.argv.slice(2);

const pools = {
  ceph: { backend: 'ceph', ...settings },
  files: { backend: 'ceph', ...shareSettings },
};

await serveOrders(3, {
  ...(await openGateway(root, pools)),
  /** Returns the hash of the volume's data. */
  hash: async (name: string) =>
    createHash('sha256')
      .update(contentOf(imageOf(`c.${name}`)))
      .digest('hex'),
  /** Lists the resources of attachments: users, and clients that have an image open. */
  left: async () => [...users(), ...images().flatMap(watchers)],
  /** Lists the keys of current attachments. */
  secrets: async () => users().map(user => run(`ceph auth get-key ${user}`)),
  requireNothingLeft: async () => {
    requireNothingLeft();
    requireNoShares();
  },
});
