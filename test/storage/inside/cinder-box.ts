// Runs beside Ceph for `test/storage/cinder-nodes.test.ts`: Cinder on the cluster, and a gateway with a pool over
// examples/cinder, for nodes on separate machines.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { adapter, startCinder } from '../../cinder/cinder.ts';
import { openGateway } from '../../vm/fleet/gateway.ts';
import { serveOrders, servantScope } from '../../vm/fleet/orders.ts';
import { images, watchers } from './cluster.ts';

const [root = ''] = process.argv.slice(2);
const env = await startCinder(servantScope, root);
const TOKEN = 'a-token-for-a-first-try';
const token = join(root, 'token');
writeFileSync(token, TOKEN);
const [program = '', ...args] = adapter;
const server = spawn(program, args, {
  env: { ...process.env, ...env, DIR: join(root, 'records'), TOKEN },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [line] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
const url = line.replace('listening on ', '');

await serveOrders(3, {
  ...(await openGateway(root, { cinder: { backend: 'rest', url, token } })),
  /** Lists the clients that have an image open. */
  left: async () => images().flatMap(watchers),
  /** Lists the images of volumes. */
  images: async () => images(),
});
