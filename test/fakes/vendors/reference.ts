import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from '../../harness/gateway-harness.ts';

const root = join(import.meta.dirname, '../../..');

const typescript = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  join(root, 'examples/vendor-hono/main.ts'),
];
const hasPython = spawnSync('python3', ['--version']).status === 0;

/** The reference vendors: what starts each, and why it cannot be started here. */
export const referenceVendors = [
  { language: 'typescript', command: typescript, skip: false },
  {
    language: 'python',
    command: ['python3', join(root, 'examples/vendor-python/vendor.py')],
    skip: hasPython ? false : 'this needs python3',
  },
] as const;

/** A vendor's server that runs as a process of its own, with its directory. */
export type RunningVendor = {
  readonly url: string;
  readonly token: string;
  readonly directory: string;
  /** Ends it at once, as a failure of its machine does; `start` serves again at the same address. */
  kill(): Promise<void>;
  start(): Promise<void>;
};

/** What a vendor is started with. */
export type VendorOptions = {
  readonly command?: readonly string[];
  /** Variables beside PORT, DIR, TOKEN and OPENAPI (which the one in Python reads), or instead of them. */
  readonly env?: Readonly<Record<string, string>>;
};

/** Starts a reference vendor, the one in TypeScript unless another is named; it ends with the test. */
export async function startVendor(t: TestContext, options: VendorOptions = {}): Promise<RunningVendor> {
  const { command: [program = '', ...args] = typescript } = options;
  let child: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  // First: its directory is removed after it.
  t.after(kill);
  const directory = temporaryDirectory(t);
  const token = 'a-token-for-a-first-try';
  const env = {
    ...process.env,
    DIR: directory,
    TOKEN: token,
    OPENAPI: join(root, 'docs/reference/vendor-openapi.json'),
    ...options.env,
  };
  let url = '';
  const start = async (): Promise<void> => {
    const port = url === '' ? '0' : new URL(url).port;
    child = spawn(program, args, { env: { ...env, PORT: port }, stdio: ['ignore', 'pipe', 'inherit'] });
    url = await readAddress(child);
  };
  await start();
  return {
    get url() {
      return url;
    },
    token,
    directory,
    kill,
    start,
  };
}

async function readAddress(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the vendor has no output');
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /^listening on (\S+)$/.exec(line)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error('the vendor ended before it listened');
}
