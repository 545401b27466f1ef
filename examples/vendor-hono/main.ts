// Serves a storage vendor's side of the Storage API v1 on loopback: volumes are image files in a directory.

import { readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import { createAuthenticate } from './auth.ts';
import { openDisk } from './disk.ts';
import { createSnapshots } from './snapshots.ts';
import { createVendor } from './vendor.ts';
import { createVolumes } from './volumes.ts';

const { DIR = 'data', CAPACITY = 100 * 2 ** 30, PORT = 0, OPENAPI } = process.env;
const document = JSON.parse(readFileSync(OPENAPI ?? new URL('openapi.json', import.meta.url), 'utf8'));
const disk = openDisk(DIR, Number(CAPACITY));
const operations = { ...createVolumes(disk), ...createSnapshots(disk) };
const { fetch } = createVendor(operations, document, createAuthenticate(process.env));
serve({ fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) =>
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`),
);
