// Serves the reference vendor with one fault, or another correct vendor: node test/fakes/storages/serve.ts NAME,
// with the variables of the example.

import { setTimeout } from 'node:timers/promises';
import { serve } from '@hono/node-server';
import { createAttachments } from '../../../examples/vendor-hono/attachments.ts';
import { openDisk } from '../../../examples/vendor-hono/disk.ts';
import { createSnapshots } from '../../../examples/vendor-hono/snapshots.ts';
import { createVolumes, toCapabilities } from '../../../examples/vendor-hono/volumes.ts';
import { createAuthenticate, createVendor, type VendorOperations } from '../../../src/sdk/server/vendor.ts';
import { brokenVendors } from './broken.ts';
import type { Breakage, CorrectOperations, Fetch } from './breakage.ts';
import { correctVendors } from './correct.ts';
import { type BasicOperations, withGroupsAndNodes } from './features/groups-and-nodes.ts';
import { withImports } from './features/imports.ts';
import { withSharing } from './features/shared-volumes.ts';

const { DIR = 'data', CAPACITY = 100 * 2 ** 30, PORT = 0, TOKEN, JWKS, AUDIENCE } = process.env;
const [, , name = ''] = process.argv;
const correct = correctVendors[name];
const broken: Partial<Breakage> | undefined = brokenVendors[name] ?? correct;
if (!broken) throw new Error(`there is no vendor "${name}"`);
const disk = openDisk(DIR, Number(CAPACITY));
const { features, accessModes, ...basicOffer } = toCapabilities(disk);
const offer = {
  ...basicOffer,
  accessModes: [...(broken.accessModes ?? accessModes)],
  features: [
    ...features,
    ...(broken.hasGroupsAndNodes ? (['groups', 'nodes'] as const) : []),
    ...(broken.hasImports ? (['import'] as const) : []),
  ],
};
const single: BasicOperations = {
  getCapabilities: () => [200, offer],
  ...createVolumes(disk),
  ...createAttachments(disk),
  ...createSnapshots(disk),
};
const shared: BasicOperations = broken.accessModes ? withSharing(single, disk) : single;
const basic: BasicOperations = broken.hasImports ? withImports(shared, disk) : shared;
const fuller = withGroupsAndNodes(basic, disk) as CorrectOperations;
// A breakage of other operations gets the basic ones, which need no nodes.
const right = broken.hasGroupsAndNodes ? fuller : { ...fuller, ...basic };
const served = broken.hasGroupsAndNodes ? right : basic;
const rightAuthenticate = createAuthenticate({ token: TOKEN, jwks: JWKS, audience: AUDIENCE });
const parts = {
  capabilities: broken.offer?.(offer) ?? offer,
  // A faulty operation may answer against its types.
  operations: { ...served, ...broken.operations?.(right, disk) } as VendorOperations,
  authenticate: broken.authenticate?.(rightAuthenticate) ?? rightAuthenticate,
};
const openVendor = () => createVendor(parts);
const vendor = openVendor();
const isHasty = ({ method, url }: Request): boolean =>
  broken.isHasty === true || broken.isHasty?.test(`${method} ${new URL(url).pathname}`) === true;
const answer: Fetch = async request => (isHasty(request) ? openVendor() : vendor).fetch(request);
const fetch = broken.fetch?.(answer) ?? answer;
await setTimeout(correct?.startMs ?? 0);
serve({ fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) =>
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`),
);
