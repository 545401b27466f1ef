// Serves the reference vendor with one fault: node test/fakes/storages/serve.ts NAME, with the variables of the
// example.

import { serve } from '@hono/node-server';
import { createAttachments } from '../../../examples/vendor-hono/attachments.ts';
import { openDisk } from '../../../examples/vendor-hono/disk.ts';
import { createSnapshots } from '../../../examples/vendor-hono/snapshots.ts';
import { createVolumes, toCapabilities } from '../../../examples/vendor-hono/volumes.ts';
import { createAuthenticate, createVendor, type VendorOperations } from '../../../src/sdk/server/vendor.ts';
import { brokenVendors } from './broken.ts';
import type { Fetch, CorrectOperations } from './broken/breakage.ts';

const { DIR = 'data', CAPACITY = 100 * 2 ** 30, PORT = 0, TOKEN, JWKS, AUDIENCE } = process.env;
const broken = brokenVendors[process.argv[2] ?? ''];
if (!broken) throw new Error(`there is no broken vendor "${process.argv[2]}"`);
const disk = openDisk(DIR, Number(CAPACITY));
const offer = toCapabilities(disk);
const right: CorrectOperations = {
  getCapabilities: () => [200, offer],
  ...createVolumes(disk),
  ...createAttachments(disk),
  ...createSnapshots(disk),
};
const rightAuthenticate = createAuthenticate({ token: TOKEN, jwks: JWKS, audience: AUDIENCE });
const parts = {
  capabilities: broken.offer?.(offer) ?? offer,
  // A faulty operation may answer against its types.
  operations: { ...right, ...broken.operations?.(right, disk) } as VendorOperations,
  authenticate: broken.authenticate?.(rightAuthenticate) ?? rightAuthenticate,
};
const openVendor = () => createVendor(parts);
const vendor = openVendor();
const answer: Fetch = async request => (broken.isHasty ? openVendor() : vendor).fetch(request);
const fetch = broken.fetch?.(answer) ?? answer;
serve({ fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) =>
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`),
);
