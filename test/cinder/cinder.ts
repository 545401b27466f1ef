import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { noPostgres } from '../harness/postgres.ts';
import { packagesOf } from '../packages.ts';
import { startScript } from '../sandbox.ts';

const packages = packagesOf('cinder');

/** The reason why no Cinder can run beside Ceph here, or false. */
export const whyNoCinder: string | false = existsSync(packages)
  ? noPostgres
  : 'needs the packages of OpenStack: run test/cinder/packages.sh';

/** The server of examples/cinder, as a command. */
export const adapter = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  pathOf('../../examples/cinder/main.ts'),
];

/** The variables of `adapter` that tell it the OpenStack project. */
const project = {
  OS_AUTH_URL: 'http://127.0.0.1:5000/v3',
  OS_USERNAME: 'admin',
  OS_PASSWORD: 'secret',
  OS_PROJECT_NAME: 'admin',
};
const apart = ['unshare', '--mount', '--pid', '--fork', '--kill-child'];

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
  await startScript(t, [...apart, 'sh', pathOf('cinder.sh'), packages, CEPH_CONF]).ready;
  return { ...project, PROTOCOLS: 'rbd', CEPH_CONF, CEPH_KEY: key };
}

/**
 * Starts Cinder without a storage, in a network of its own, until the test or this process ends. Returns the beginning of
 * a command that runs in this network, such as a virtual machine that runs `startLvm`.
 */
export async function startServices(t: Pick<TestContext, 'after'>): Promise<readonly string[]> {
  const { pid, ready } = startScript(t, [...apart, '--net', 'sh', pathOf('cinder.sh'), packages]);
  await ready;
  return ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];
}

/**
 * Starts Cinder's driver for LVM on this machine, which joins the services on `host`. Returns the variables of
 * `adapter`.
 */
export async function startLvm(
  t: Pick<TestContext, 'after'>,
  host: string,
): Promise<Readonly<Record<string, string>>> {
  await startScript(t, ['sh', pathOf('lvm.sh'), packages, host]).ready;
  const OS_AUTH_URL = project.OS_AUTH_URL.replace('127.0.0.1', host);
  // Keystone's catalog has the address on the services' own machine.
  return { ...project, OS_AUTH_URL, OS_VOLUME_ENDPOINT: `http://${host}:8776/v3`, PROTOCOLS: 'iscsi' };
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
