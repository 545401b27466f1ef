import { test } from 'node:test';
import { startServices, whyNoCinder } from '../cinder/cinder.ts';
import { noRoot } from '../harness/machine.ts';
import { canMakeSandbox } from '../sandbox.ts';
import { runInMachine } from '../vm/guests.ts';
import { whyNoMachine } from '../vm/packages.ts';

const needs = canMakeSandbox() ? false : 'needs namespaces of mounts, networks and processes';
const skip = noRoot || whyNoCinder || needs || (whyNoMachine() ?? false);

test("a machine with Cinder's driver for LVM exports volumes to a node over iSCSI", { skip }, async t => {
  const network = await startServices(t);
  await runInMachine(t, ['test/cinder/iscsi.guest.ts'], { network });
});
