import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canBeApart, startApart } from '../apart.ts';
import { noRoot } from '../harness/machine.ts';
import { packages, whyNoMachine } from './packages.ts';

const script = fileURLToPath(new URL('hypervisor/libvirt.sh', import.meta.url));
const inside = fileURLToPath(new URL('hypervisor/inside.ts', import.meta.url));
const apart = canBeApart() ? false : 'needs namespaces of mounts, networks and processes';

void test(
  'a hypervisor that plugs its volumes into its virtual machines',
  { skip: noRoot || (whyNoMachine() ?? apart) },
  async t => {
    const { dir, runTests } = await startApart(t, script, packages);
    await runTests(inside, { HYPERVISOR_DIR: dir, TMPDIR: dir });
  },
);
