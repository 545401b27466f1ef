// Serves the vendor's side of the Storage API v1 on loopback. Volumes are image files in a directory.

import { serve } from '@hono/node-server';
import { createAuthenticate, createVendor } from 'fairlead/vendor';
import { createAttachments } from './attachments.ts';
import { openDisk } from './disk.ts';
import { createSnapshots } from './snapshots.ts';
import { createVolumes, toCapabilities } from './volumes.ts';

const { DIR = 'data', CAPACITY = 100 * 2 ** 30, PORT = 0, TOKEN, JWKS, AUDIENCE } = process.env;
const disk = openDisk(DIR, Number(CAPACITY));
const { fetch } = createVendor({
  capabilities: toCapabilities(disk),
  operations: { ...createVolumes(disk), ...createAttachments(disk), ...createSnapshots(disk) },
  authenticate: createAuthenticate({ token: TOKEN, jwks: JWKS, audience: AUDIENCE }),
});
serve({ fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) =>
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`),
);
