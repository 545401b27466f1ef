// Runs beside Ceph for `test/storage/ceph-sanity.test.ts`: an installed gateway, for csi-sanity in a virtual machine.

import { join } from 'node:path';
import { startChild } from '../../../src/dev/children.ts';
import { enroll } from '../../../src/dev/dev.ts';
import { serveOrders } from '../../vm/fleet/orders.ts';
import { requireNothingLeft, settings } from './cluster.ts';

const [root = ''] = process.argv.slice(2);

const { configFile } = await enroll(root, { ceph: { backend: 'ceph', ...settings, capacity: '1Ti' } });
const store = join(root, 'store.sqlite');
const { ready } = startChild('gateway', {
  listen: '127.0.0.1:0',
  store,
  config: configFile,
  'log-level': 'warn',
});
const { gateway } = await ready;

await serveOrders(3, {
  address: async () => gateway,
  requireNothingLeft: async () => requireNothingLeft(),
});
