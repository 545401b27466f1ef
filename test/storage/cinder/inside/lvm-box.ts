// Runs beside Cinder for `test/storage/cinder/lvm.test.ts`: a gateway with a pool over examples/cinder.

import { execFileSync } from 'node:child_process';
import { hostOf, wayOf, type ConnectionInfo } from '../../../../examples/cinder/reach.ts';
import { project } from '../../../cinder/cinder.ts';
import { openPool } from '../../../cinder/pool.ts';
import { serveOrders } from '../../../vm/fleet/orders.ts';

const [root = ''] = process.argv.slice(2);

await serveOrders(3, {
  ...(await openPool(root, { ...project, PROTOCOLS: 'iscsi' })),
  /** Lists the targets of attachments. */
  left: async () =>
    execFileSync('cinder-rtstool', ['get-targets'], { encoding: 'utf8' }).split('\n').filter(Boolean),
  /** Asks the storage for the identity of a volume, as a node with this name. */
  identify: (info: ConnectionInfo, initiator: string) =>
    wayOf(info).identify(info, { ...hostOf('n1'), initiator }),
});
