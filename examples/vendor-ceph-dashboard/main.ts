// Serves Ceph as a storage vendor, by the REST API of its dashboard. All that it remembers is in Ceph.

import { readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import { createAuthenticate } from '../vendor-hono/auth.ts';
import { createVendor } from '../vendor-hono/vendor.ts';
import { createAttachments } from './attachments.ts';
import { openCeph } from './ceph.ts';
import { openRecords } from './records.ts';
import { createSnapshots } from './snapshots.ts';
import { createVolumes } from './volumes.ts';

const {
  CEPH_URL = '',
  CEPH_USER: username,
  CEPH_PASSWORD: password,
  CEPH_POOL = 'rbd',
  ...env
} = process.env;
const { NBD_QMP: qmp = '', NBD_SERVER: server = '127.0.0.1', NBD_PORT = 10_809, PORT = 0, OPENAPI } = env;
const path = OPENAPI ?? new URL('../vendor-hono/openapi.json', import.meta.url);
const ceph = openCeph(CEPH_URL, { username, password }, CEPH_POOL);
const records = openRecords(ceph);
const { resume, ...attachments } = createAttachments(ceph, records, { qmp, server, port: Number(NBD_PORT) });
const operations = { ...createVolumes(ceph, records), ...attachments, ...createSnapshots(ceph, records) };
const { fetch } = createVendor(operations, JSON.parse(readFileSync(path, 'utf8')), createAuthenticate(env));
await resume();
serve({ fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) =>
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`),
);
