import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  apartFromOthers,
  makeTemporaryDirectory,
  noRoot,
  removeTemporaryDirectory,
} from '../harness/machine.ts';
import { packagesOf } from '../packages.ts';

/** A Ceph of one machine, with its dashboard, a pool `rbd`, and an NBD server that exports its images. */
export type Ceph = {
  /** The beginning of a command that runs where Ceph's network, and no other, is, and its programs are. */
  readonly inside: readonly string[];
  /** The same for what keeps this machine's own files, such as a virtual machine. */
  readonly network: readonly string[];
  /** Runs a file of tests there; fails unless all pass. */
  runTests(file: string, more?: Readonly<Record<string, string>>): Promise<void>;
  /** What `examples/vendor-ceph-dashboard` is told. */
  readonly env: Readonly<Record<string, string>>;
};

const script = fileURLToPath(new URL('ceph.sh', import.meta.url));
const mortal = ['setpriv', '--pdeathsig', 'KILL', '--'];
const namespaces = ['--net', '--pid', '--fork', '--kill-child'];

/** Why there can be no Ceph here, or false. */
export function whyNoCeph(): string | false {
  if (noRoot) return noRoot;
  if (!existsSync(packagesOf('storage'))) return 'needs the packages of Ceph: run test/storage/packages.sh';
  const { status } = spawnSync('unshare', ['--mount', ...namespaces, 'true']);
  return status === 0 ? false : 'needs namespaces of mounts, networks and processes';
}

/** Starts it; it ends with the test, and leaves nothing. */
export async function startCeph(t: Pick<TestContext, 'after'>): Promise<Ceph> {
  const dir = makeTemporaryDirectory();
  // It ends with this process, too, however that ends.
  const [program = '', ...args] = [...mortal, ...apartFromOthers(dir, namespaces), 'sh', script];
  const child = spawn(program, [...args, dir, packagesOf('storage')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    removeTemporaryDirectory(dir);
  });
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  if (line !== 'ready') throw new Error('Ceph has not started');
  const { pid } = child;
  // What runs there ends with this process.
  const inside = [...mortal, 'nsenter', `--net=/proc/${pid}/ns/net`, `--mount=/proc/${pid}/ns/mnt`, '--'];
  const env = {
    CEPH_URL: 'http://127.0.0.1:8080',
    CEPH_USER: 'fairlead',
    CEPH_PASSWORD: 'secret-of-the-test',
    NBD_QMP: `${dir}/qmp.sock`,
    CEPH_CONF: `${dir}/ceph.conf`,
  };
  return {
    inside,
    network: ['nsenter', `--net=/proc/${pid}/ns/net`, '--'],
    env,
    runTests: (file, more) => runTests([...inside, process.execPath], { file, env: { ...env, ...more } }),
  };
}

type Tests = { readonly file: string; readonly env: Readonly<Record<string, string>> };

async function runTests([program = '', ...args]: readonly string[], { file, env }: Tests): Promise<void> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { NODE_TEST_CONTEXT: _, ...own } = process.env;
  const child = spawn(program, [...args, '--disable-warning=ExperimentalWarning', path], {
    env: { ...own, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [status] = await once(child, 'exit');
  assert.equal(status, 0);
}
