import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectCsi, type CsiClient } from '../csi/client.ts';
import { choice } from '../lib/parsers.ts';
import type { SettingsOf } from '../lib/settings.ts';
import { startChild } from './children.ts';
import { walk, type Step } from './walk.ts';

/** All settings of `fairlead demo`. */
export const demoSettings = {
  fs: {
    doc: 'filesystem of the mounted volume: ext4, xfs or btrfs',
    parse: choice('ext4', 'xfs', 'btrfs'),
    default: 'ext4',
  },
} as const;

/**
 * Walks one volume's life as kubelet and the sidecars do, on this machine and for real: first with a filesystem, then
 * as a raw block device. Returns the exit status: 0 only when every step worked and nothing was left behind.
 */
export async function runDemo({ fs }: SettingsOf<typeof demoSettings>): Promise<number> {
  if (process.getuid?.() !== 0) {
    complain('it attaches loop devices and mounts filesystems, which needs root; run it as root');
    return 1;
  }
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => interrupt.abort(new Error('interrupted')));
  const step = createStep(interrupt.signal);
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-demo-'));
  try {
    const [file, device] = await walkBoth(dir, step, fs);
    await step('nothing is left behind', () => proveClean(dir));
    say(`\nProved: sha256 ${file.slice(0, 12)}… in a file and ${device.slice(0, 12)}… on a raw device were`);
    say('read back after detaching and attaching again; no mount, loop device or volume is left.');
    await rm(dir, { recursive: true });
    return 0;
  } catch (error) {
    complain(`failed: ${String(error)}`);
    // A directory with something mounted below is left as it is: to remove it could remove a volume's content.
    await proveClean(dir).then(
      () => rm(dir, { recursive: true }),
      (left: unknown) => complain(`left behind in "${dir}": ${String(left)}`),
    );
    return 1;
  }
}

/** Shows each step on a line with its time. Once `interrupt` is aborted, no further step starts. */
function createStep(interrupt: AbortSignal): Step {
  return async (title, work) => {
    interrupt.throwIfAborted();
    const startMs = performance.now();
    let mark = '✗';
    try {
      const result = await work();
      mark = '✓';
      return result;
    } finally {
      const time = `${(performance.now() - startMs).toFixed(1)} ms`;
      say(`  ${mark} ${title.padEnd(58)}${time.padStart(11)}`);
    }
  };
}

async function walkBoth(dir: string, step: Step, fs: string): Promise<readonly [string, string]> {
  await using stack = new AsyncDisposableStack();
  const kubeletDir = join(dir, 'kubelet');
  await mkdir(kubeletDir);
  const settings = { dir: join(dir, 'dev'), 'kubelet-dir': kubeletDir, 'log-level': 'error' };
  const dev = startChild('dev', settings);
  stack.defer(() => dev.close());
  const ready = await step('start gateway, controller and node agent', () => dev.ready);
  const connect = (endpoint = ''): CsiClient => stack.adopt(connectCsi(endpoint), client => client.close());
  const [controller, node] = [connect(ready['controller']), connect(ready['node'])];
  await step('probe both CSI sockets', () =>
    Promise.all([controller, node].map(({ identity }) => identity.Probe({}))),
  );
  const machine = { controller, node, nodeId: ready['nodeId'] ?? '', dir: kubeletDir };
  say(`\nA volume with ${fs}:`);
  const file = await walk(machine, { step, name: 'demo-mount', fs });
  say('\nThe same as a raw block device:');
  return [file, await walk(machine, { step, name: 'demo-block' })];
}

async function proveClean(dir: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .filter(line => line.includes(dir));
  if (mounts.length > 0) throw new Error(`${mounts.length} mounts are left below "${dir}"`);
  const images = (await readdir(join(dir, 'dev', 'images'))).filter(name => name.endsWith('.img'));
  if (images.length > 0) throw new Error(`the images ${images.join(', ')} are left`);
  for (const name of (await readdir('/sys/block')).filter(block => block.startsWith('loop'))) {
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '');
    if (file.startsWith(dir)) throw new Error(`loop device "/dev/${name}" is left on "${file.trim()}"`);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function complain(what: string): void {
  process.stderr.write(`fairlead demo: ${what}\n`);
}
