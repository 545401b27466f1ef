// Serves the reference vendor with one thing wrong: node test/fakes/vendors/serve.ts NAME, with the variables of the example.

import { readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import { createAuthenticate } from '../../../examples/vendor-hono/auth.ts';
import { openDisk } from '../../../examples/vendor-hono/disk.ts';
import { createSnapshots } from '../../../examples/vendor-hono/snapshots.ts';
import { createVendor } from '../../../examples/vendor-hono/vendor.ts';
import { createVolumes } from '../../../examples/vendor-hono/volumes.ts';
import { brokenVendors } from './broken.ts';
import type { Fetch } from './broken/breakage.ts';

const { DIR = 'data', CAPACITY = 100 * 2 ** 30, PORT = 0, OPENAPI = '' } = process.env;
const broken = brokenVendors[process.argv[2] ?? ''];
if (!broken) throw new Error(`there is no broken vendor "${process.argv[2]}"`);
const text = JSON.stringify(JSON.parse(readFileSync(OPENAPI, 'utf8')));
const document: unknown = JSON.parse(broken.document?.(text) ?? text);
const disk = openDisk(DIR, Number(CAPACITY));
const right = { ...createVolumes(disk), ...createSnapshots(disk) };
const operations = { ...right, ...broken.operations?.(right, disk) };
const authenticate = createAuthenticate(process.env);
const isAllowed = broken.authenticate?.(authenticate) ?? authenticate;
const openVendor = () => createVendor(operations, document as object, isAllowed);
const vendor = openVendor();
const answer: Fetch = async request => (broken.isHasty ? openVendor() : vendor).fetch(request);
const fetch = broken.fetch?.(answer) ?? answer;
serve({ fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) =>
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`),
);
