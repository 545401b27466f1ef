import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canBeApart, startApart, type Apart } from '../apart.ts';
import { noRoot } from '../harness/machine.ts';
import { packagesOf } from '../packages.ts';

/** A Ceph of one machine, with its dashboard, a pool `rbd`, and an NBD server that exports its images; `runTests` takes a file of this folder. */
export type Ceph = Omit<Apart, 'dir'> & {
  /** What `examples/vendor-ceph-dashboard` is told. */
  readonly env: Readonly<Record<string, string>>;
};

/** Why there can be no Ceph here, or false. */
export function whyNoCeph(): string | false {
  if (noRoot) return noRoot;
  if (!existsSync(packagesOf('storage'))) return 'needs the packages of Ceph: run test/storage/packages.sh';
  return canBeApart() ? false : 'needs namespaces of mounts, networks and processes';
}

/** Starts it; it ends with the test, and leaves nothing. */
export async function startCeph(t: Pick<TestContext, 'after'>): Promise<Ceph> {
  const { dir, runTests, ...apart } = await startApart(t, pathOf('ceph.sh'), packagesOf('storage'));
  const env = {
    CEPH_URL: 'http://127.0.0.1:8080',
    CEPH_USER: 'fairlead',
    CEPH_PASSWORD: 'secret-of-the-test',
    NBD_QMP: `${dir}/qmp.sock`,
    CEPH_CONF: `${dir}/ceph.conf`,
  };
  return { ...apart, env, runTests: (file, more) => runTests(pathOf(file), { ...env, ...more }) };
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
