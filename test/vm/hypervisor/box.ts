import { statSync } from 'node:fs';
import { openGateway } from '../fleet/gateway.ts';
import { serveOrders } from '../fleet/orders.ts';
import { disksOf } from './domain.ts';

// Serves a gateway, as a process that can be killed, for nodes that are virtual machines of its hypervisor: box.ts ROOT
// POOL.
const [root = '', dir = ''] = process.argv.slice(2);
const pool = { backend: 'image', dir, capacity: '100Gi', export: { protocol: 'libvirt' } };

await serveOrders(3, {
  ...(await openGateway(root, { libvirt: pool })),
  /** Returns the bytes that a volume takes of its filesystem. */
  allocated: async (name: string) => statSync(`${dir}/c.${name}.img`).blocks * 512,
  /** Lists the disks of attachments. */
  left: async () => disksOf(['n1', 'n2']),
});
