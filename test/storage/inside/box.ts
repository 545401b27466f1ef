// What `test/storage/ceph-nodes.test.ts` runs where Ceph is: a gateway with pools in it, for nodes on machines of their own.

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
  /** Of all that the volume holds. */
  hash: async (name: string) =>
    createHash('sha256')
      .update(contentOf(imageOf(`c.${name}`)))
      .digest('hex'),
  /** What there is for attachments: users, and who has an image open. */
  left: async () => [...users(), ...images().flatMap(watchers)],
  /** The keys that attachments have now. */
  secrets: async () => users().map(user => run(`ceph auth get-key ${user}`)),
  requireNothingLeft: async () => {
    requireNothingLeft();
    requireNoShares();
  },
});
