// Serves Ceph as a storage vendor, by the REST API of its dashboard. All that it remembers is in Ceph.

import { serve } from '@hono/node-server';
import { createAuthenticate, createVendor } from 'fairlead/vendor';
import { createAttachments } from './attachments.ts';
import { openCeph } from './ceph.ts';
import { openRecords } from './records.ts';
import { createSnapshots } from './snapshots.ts';
import { capabilities, createVolumes } from './volumes.ts';

const {
  CEPH_URL = '',
  CEPH_USER: username,
  CEPH_PASSWORD: password,
  CEPH_POOL = 'rbd',
  ...env
} = process.env;
const { NBD_QMP: qmp = '', NBD_SERVER: server = '127.0.0.1', NBD_PORT = 10_809, PORT = 0 } = env;
const ceph = openCeph(CEPH_URL, { username, password }, CEPH_POOL);
const records = openRecords(ceph);
const { resume, ...attachments } = createAttachments(ceph, records, { qmp, server, port: Number(NBD_PORT) });
const { fetch } = createVendor({
  capabilities,
  operations: { ...createVolumes(ceph, records), ...attachments, ...createSnapshots(ceph, records) },
  authenticate: createAuthenticate({ token: env.TOKEN, jwks: env.JWKS, audience: env.AUDIENCE }),
});
await resume();
serve({ fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) =>
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`),
);
