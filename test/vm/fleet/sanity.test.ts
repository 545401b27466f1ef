import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildTools, whyNotBuildable } from '../../conformance/go.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../harness/machine.ts';
import { whyNoZfs, zfsRoot } from '../../zfs/zfs.ts';
import { testInMachine } from '../guests.ts';

const tools = join(import.meta.dirname, '../../conformance');
const missing = whyNotBuildable(tools);
const directory = makeTemporaryDirectory();
before(() => {
  if (missing === undefined) buildTools(tools, directory);
});
after(() => removeTemporaryDirectory(directory));

const machines = {
  'a box that csi-sanity looks at': {},
  'a box with ZFS that csi-sanity looks at': { root: zfsRoot, why: whyNoZfs, env: { DEVICES: 'zfs' } },
} as const;

for (const [name, options] of Object.entries(machines))
  if (missing === undefined)
    testInMachine(name, ['test/vm/guest/sanity.guest.ts'], {
      parameters: [`CSI_SANITY=${join(directory, 'csi-sanity')}`],
      ...options,
    });
  else test(name, { skip: missing });
