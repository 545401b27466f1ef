import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { openCeph } from '../../../examples/vendor-ceph-dashboard/ceph.ts';

test('whoever the dashboard redirects to gets neither the password nor the token', async t => {
  const paths: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    paths.push(url);
    if (url === '/api/pool') response.writeHead(401).end('{}');
    else response.writeHead(307, { location: '/elsewhere' }).end();
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ceph = openCeph(url, { username: 'fairlead', password: 'secret' }, 'rbd');
  await assert.rejects(ceph.get('pool'));
  assert.deepEqual(paths, ['/api/pool', '/api/auth']);
});
