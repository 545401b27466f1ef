import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startSandbox, whyNoSandbox, type Sandbox } from '../sandbox.ts';
import { packagesOf } from '../packages.ts';

/** A Ceph cluster on one machine, with a pool `rbd`; `runTests` runs a file of this folder. */
export type Ceph = Omit<Sandbox, 'dir'> & {
  /** The environment variables that name the cluster's configuration. */
  readonly env: Readonly<Record<string, string>>;
};

/** Returns the reason why no Ceph can run here, or false. */
export function whyNoCeph(): string | false {
  if (!existsSync(packagesOf('storage'))) return 'needs the packages of Ceph: run test/storage/packages.sh';
  return whyNoSandbox();
}

/** Starts a Ceph cluster, which ends with the test and leaves nothing. */
export async function startCeph(t: Pick<TestContext, 'after'>): Promise<Ceph> {
  const { dir, runTests, ...apart } = await startSandbox(t, pathOf('ceph.sh'), packagesOf('storage'));
  const env = { CEPH_CONF: `${dir}/ceph.conf` };
  return { ...apart, env, runTests: (file, more) => runTests(pathOf(file), { ...env, ...more }) };
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
