import { statSync } from 'node:fs';
import { openGateway } from '../fleet/gateway.ts';
import { serveOrders } from '../fleet/orders.ts';
import { disksOf } from './domain.ts';

// A gateway whose nodes are the virtual machines of its hypervisor, as a process that can be killed: box.ts ROOT POOL.
const [root = '', dir = ''] = process.argv.slice(2);
const pool = { backend: 'image', dir, capacity: '100Gi', export: { protocol: 'libvirt' } };

await serveOrders(3, {
  ...(await openGateway(root, { libvirt: pool })),
  /** How many bytes of its filesystem a volume has. */
  allocated: async (name: string) => statSync(`${dir}/c.${name}.img`).blocks * 512,
  /** What there is for attachments. */
  left: async () => disksOf(['n1', 'n2']),
});
