import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { noPostgres } from '../harness/postgres.ts';
import { packagesOf } from '../packages.ts';

const packages = packagesOf('cinder');
const script = fileURLToPath(new URL('cinder.sh', import.meta.url));

/** The reason why no Cinder can run beside Ceph here, or false. */
export const whyNoCinder: string | false = existsSync(packages)
  ? noPostgres
  : 'needs the packages of OpenStack: run test/cinder/packages.sh';

/** The server of examples/cinder, as a command. */
export const adapter = [
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
  const apart = ['--mount', '--pid', '--fork', '--kill-child', 'sh', script, packages];
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'unshare', ...apart, CEPH_CONF], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  if (line !== 'ready') throw new Error(`${script} has not started`);
  return {
    OS_AUTH_URL: 'http://127.0.0.1:5000/v3',
    OS_USERNAME: 'admin',
    OS_PASSWORD: 'secret',
    OS_PROJECT_NAME: 'admin',
    PROTOCOLS: 'rbd',
    CEPH_CONF,
    CEPH_KEY: key,
  };
}
