import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildTools, whyNotBuildable } from '../../conformance/go.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../harness/machine.ts';
import { testInMachine } from '../guests.ts';

const tools = join(import.meta.dirname, '../../conformance');
const missing = whyNotBuildable(tools);
const directory = makeTemporaryDirectory();
before(() => {
  if (missing === undefined) buildTools(tools, directory);
});
after(() => removeTemporaryDirectory(directory));

if (missing === undefined)
  testInMachine('a box that csi-sanity looks at', ['test/vm/guest/sanity.guest.ts'], {
    parameters: [`CSI_SANITY=${join(directory, 'csi-sanity')}`],
  });
else test('a box that csi-sanity looks at', { skip: missing });
