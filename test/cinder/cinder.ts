import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { noPostgres } from '../harness/postgres.ts';
import { packagesOf } from '../packages.ts';
import { startScript } from '../sandbox.ts';

/** The packages of OpenStack. */
export const packages = packagesOf('cinder');
/** The script that runs Cinder. */
export const script = fileURLToPath(new URL('cinder.sh', import.meta.url));

/** The reason why no Cinder can run here, or false. */
export const whyNoCinder: string | false = existsSync(packages)
  ? noPostgres
  : 'needs the packages of OpenStack: run test/cinder/packages.sh';

/** The variables of tests that repeat requests for longer than Cinder waits for a driver that has died. */
export const patience = { PATIENCE_MS: '180000' };

/** The variables of `adapter` that name the OpenStack project. */
export const project = {
  OS_AUTH_URL: 'http://127.0.0.1:5000/v3',
  OS_USERNAME: 'admin',
  OS_PASSWORD: 'secret',
  OS_PROJECT_NAME: 'admin',
};

/** The server of examples/cinder, as a command that ends with its parent process, even if a test is killed. */
export const adapter = [
  'setpriv',
  '--pdeathsig',
  'KILL',
  '--',
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  fileURLToPath(new URL('../../examples/cinder/main.ts', import.meta.url)),
];

/**
 * Starts Cinder on the Ceph cluster of CEPH_CONF, in this process's network, until the test or this process ends.
 * Returns the variables of `adapter`, with a file in the directory.
 */
export async function startCinder(
  t: Pick<TestContext, 'after'>,
  dir: string,
): Promise<Readonly<Record<string, string>>> {
  const { CEPH_CONF = '' } = process.env;
  const key = join(dir, 'key');
  writeFileSync(key, execFileSync('ceph', ['auth', 'get-key', 'client.admin']), { mode: 0o600 });
  const apart = ['unshare', '--mount', '--pid', '--fork', '--kill-child'];
  await startScript(t, [...apart, 'sh', script, '/mnt', packages, CEPH_CONF]).ready;
  return { ...project, PROTOCOLS: 'rbd', CEPH_CONF, CEPH_KEY: key };
}
