import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../api/problem.ts';
import { connectCsi, type CsiClient } from '../csi/client.ts';
import { choice } from '../lib/parsers.ts';
import type { SettingsOf } from '../lib/settings.ts';
import { startChild } from './children.ts';
import { createSteps, type Steps } from './steps.ts';
import { walk, type Place } from './walk.ts';

/** All settings of `fairlead demo`. */
export const demoSettings = {
  fs: {
    doc: 'filesystem of the mounted volume: ext4, xfs or btrfs',
    parse: choice('ext4', 'xfs', 'btrfs'),
    default: 'ext4',
  },
} as const;

/** How long both sockets may take to be ready, in milliseconds. */
const probeTimeoutMs = 15_000;

/**
 * Walks one volume's life as kubelet and the sidecars do, on this machine and for real: first with a filesystem, then
 * as a raw block device. Returns the exit status: 0 only when every step worked and nothing was left behind.
 */
export async function runDemo({ fs }: SettingsOf<typeof demoSettings>): Promise<number> {
  if (process.getuid?.() !== 0) {
    process.stderr.write(
      'fairlead demo: it attaches loop devices and mounts filesystems, which needs root; run it as root\n',
    );
    return 1;
  }
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());
  const steps = createSteps(process.stdout, interrupt.signal);
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-demo-'));
  try {
    const written = await runIn(dir, { steps, fs });
    await steps.step('nothing is left behind', () => proveClean(dir));
    steps.say(
      `\nProved: what was written (sha256 ${written.file.slice(0, 12)}… in a file, ${written.device.slice(0, 12)}… on a raw device) was`,
    );
    steps.say('read back after detaching and attaching again; no mount, loop device or volume is left.');
    await rm(dir, { recursive: true });
    return 0;
  } catch (error) {
    process.stderr.write(`fairlead demo: failed: ${describe(error)}\n`);
    await removeIfClean(dir);
    return 1;
  }
}

type Walks = { readonly steps: Steps; readonly fs: string };

async function runIn(
  dir: string,
  { steps, fs }: Walks,
): Promise<{ readonly file: string; readonly device: string }> {
  await mkdir(join(dir, 'kubelet'));
  const dev = startChild('dev', {
    dir: join(dir, 'dev'),
    'kubelet-dir': join(dir, 'kubelet'),
    'log-level': 'error',
  });
  let place: Place | undefined;
  try {
    const ready = await steps.step('start gateway, controller and node agent', () => dev.ready);
    const { controller = '', node = '', nodeId = '' } = ready;
    place = { controller: connectCsi(controller), node: connectCsi(node), nodeId, dir: join(dir, 'kubelet') };
    await steps.step('probe both CSI sockets', () => probe(controller, node));
    steps.say(`\nA volume with ${fs}:`);
    const file = await walk(place, {
      steps,
      name: 'demo-mount',
      kind: { fs },
      write: writeFileDurably,
      read: hashFile,
    });
    steps.say('\nThe same as a raw block device:');
    const device = await walk(place, {
      steps,
      name: 'demo-block',
      kind: 'block',
      write: writeDevice,
      read: hashDevice,
    });
    return { file, device };
  } finally {
    place?.controller.close();
    place?.node.close();
    await dev.close();
  }
}

async function probe(...endpoints: readonly string[]): Promise<void> {
  for (const endpoint of endpoints) {
    const client = connectCsi(endpoint);
    try {
      await untilReady(client, Date.now() + probeTimeoutMs);
    } finally {
      client.close();
    }
  }
}

async function untilReady({ identity }: CsiClient, deadlineMs: number): Promise<void> {
  while (!(await identity.Probe({})).ready?.value) {
    if (Date.now() > deadlineMs) throw new Error(`a program is not ready after ${probeTimeoutMs} ms`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

function describe(error: unknown): string {
  if (error instanceof Problem) return `${error.code}: ${error.detail}`;
  return error instanceof Error ? error.message : String(error);
}

/** A directory with something mounted below is left as it is: to remove it could remove a volume's content. */
async function removeIfClean(dir: string): Promise<void> {
  try {
    await proveClean(dir);
    await rm(dir, { recursive: true });
  } catch (error) {
    process.stderr.write(`fairlead demo: left behind in "${dir}": ${describe(error)}\n`);
  }
}

const contentBytes = 8 * 1024 * 1024;

async function writeFileDurably(target: string): Promise<string> {
  const content = randomBytes(contentBytes);
  await writeFile(join(target, 'file'), content, { flush: true });
  return sha256(content);
}

async function hashFile(target: string): Promise<string> {
  return sha256(await readFile(join(target, 'file')));
}

async function writeDevice(target: string): Promise<string> {
  const content = randomBytes(contentBytes);
  const device = await open(target, 'r+');
  try {
    await device.write(content, 0, contentBytes, 0);
    await device.sync();
  } finally {
    await device.close();
  }
  return sha256(content);
}

async function hashDevice(target: string): Promise<string> {
  const content = Buffer.alloc(contentBytes);
  const device = await open(target, 'r');
  try {
    await device.read(content, 0, contentBytes, 0);
  } finally {
    await device.close();
  }
  return sha256(content);
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

async function proveClean(dir: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .filter(line => line.includes(dir));
  if (mounts.length > 0) throw new Error(`${mounts.length} mounts are left below "${dir}"`);
  // What begins with a dot is the pool's own, and no image.
  const images = (await readdir(join(dir, 'dev', 'images'))).filter(name => !name.startsWith('.'));
  if (images.length > 0) throw new Error(`the images ${images.join(', ')} are left`);
  for (const name of (await readdir('/sys/block')).filter(block => block.startsWith('loop'))) {
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '');
    if (file.startsWith(dir)) throw new Error(`loop device "/dev/${name}" is left on "${file.trim()}"`);
  }
}
