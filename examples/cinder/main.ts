// Serves the vendor's side of the Storage API v1 on loopback. Cinder keeps the volumes.

import { serve } from '@hono/node-server';
import { createAuthenticate, createVendor } from 'fairlead/vendor';
import { createAttachments } from './attachments.ts';
import { connectCinder } from './cinder.ts';
import { createNamed } from './names.ts';
import { openRecords } from './records.ts';
import { createSnapshots } from './snapshots.ts';
import { createVolumes, toCapabilities } from './volumes.ts';

const { DIR = 'data', PORT = 0, TOKEN, JWKS, AUDIENCE } = process.env;
const cinder = connectCinder(process.env);
const [volumes, snapshots] = [createNamed(cinder, 'volume'), createNamed(cinder, 'snapshot')];
const records = openRecords(DIR);
const { fetch } = createVendor({
  capabilities: toCapabilities(process.env),
  operations: {
    ...createVolumes(cinder, records, { volumes, snapshots }),
    ...createAttachments(cinder, records, volumes),
    ...createSnapshots(volumes, snapshots),
  },
  authenticate: createAuthenticate({ token: TOKEN, jwks: JWKS, audience: AUDIENCE }),
  areIndependent: true,
});
serve({ fetch, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) =>
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`),
);
