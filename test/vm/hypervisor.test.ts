import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startSandbox, whyNoSandbox, withOwnProcesses } from '../sandbox.ts';
import { packages, whyNoMachine } from './packages.ts';

const script = fileURLToPath(new URL('hypervisor/libvirt.sh', import.meta.url));
const inside = fileURLToPath(new URL('hypervisor/inside.ts', import.meta.url));

void test(
  'a hypervisor plugs its volumes into its virtual machines',
  { skip: whyNoMachine() ?? whyNoSandbox() },
  async t => {
    const { dir, runTests } = await startSandbox(t, script, packages);
    // A pool opens its directories through /proc.
    await runTests(inside, { HYPERVISOR_DIR: dir, TMPDIR: dir }, withOwnProcesses);
  },
);
