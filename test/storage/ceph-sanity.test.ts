import { join } from 'node:path';
import { test } from 'node:test';
import { buildTools, whyNotBuildable } from '../conformance/go.ts';
import { directoryOf } from '../harness/machine.ts';
import { runInMachine } from '../vm/guests.ts';
import { whyNoMachine } from '../vm/packages.ts';
import { startBox } from './box.ts';
import { startCeph, whyNoCeph } from './ceph.ts';

const tools = join(import.meta.dirname, '../conformance');
const skip = whyNoCeph() || (whyNoMachine() ?? whyNotBuildable(tools) ?? false);

test('csi-sanity finds no failure with images of Ceph on a node that maps them', { skip }, async t => {
  const ceph = await startCeph(t);
  const directory = directoryOf(t);
  buildTools(tools, directory);
  const { box, root } = await startBox(t, ceph, 'inside/sanity-gateway.ts');
  const { port } = new URL(await box.ask<string>('address'));
  await runInMachine(t, ['test/vm/guest/ceph-sanity.guest.ts'], {
    network: ceph.network,
    parameters: [
      `CSI_SANITY=${join(directory, 'csi-sanity')}`,
      `GATEWAY_PORT=${port}`,
      `GATEWAY_DIRECTORY=${root}`,
    ],
  });
  await box.ask('requireNothingLeft');
});
