import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { endProcess } from '../../harness/exit.ts';

const root = join(import.meta.dirname, '../../..');

const typescript = [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  join(root, 'examples/vendor-hono/main.ts'),
];
const hasPython = spawnSync('python3', ['--version']).status === 0;

/** The reference vendors: the command of each, and the reason if it cannot be started here. */
export const referenceVendors = [
  { language: 'typescript', command: typescript, skip: false },
  {
    language: 'python',
    command: ['python3', join(root, 'examples/vendor-python/vendor.py')],
    skip: hasPython ? false : 'this needs python3',
  },
] as const;

/** A vendor's server as a process, with its directory. */
export type RunningVendor = {
  readonly url: string;
  readonly token: string;
  readonly directory: string;
  /** Ends it at once, as a failure of its machine does; `start` serves again at the same address. */
  kill(): Promise<void>;
  start(): Promise<void>;
};

/** Limits a pool's attachments to files of this machine below the directory. */
export function filesBelow(directory: string) {
  return { attachments: { protocols: ['loop'], roots: [directory] } } as const;
}

/** Limits the attachments of a pool whose storage is a gateway with a pool in memory. */
export const inMemory = filesBelow('/dev/shm');

/** The options of a vendor's start. */
export type VendorOptions = {
  readonly command?: readonly string[];
  /** Variables in addition to PORT, DIR, TOKEN and OPENAPI (read by the vendor in Python), or in their place. */
  readonly env?: Readonly<Record<string, string>>;
};

/** Starts a reference vendor, by default the one in TypeScript; it ends with the test. */
export async function startVendor(t: TestContext, options: VendorOptions = {}): Promise<RunningVendor> {
  const { command: [program = '', ...args] = typescript } = options;
  let child: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    if (child) await endProcess(child);
  };
  // Registered first, because clean-ups run in order: the directory is removed after the vendor's end.
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
