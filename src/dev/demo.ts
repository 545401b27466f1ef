import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { connectCsi, type CsiClient } from '../csi/client.ts';
import { poll, unlessAborted } from '../lib/concurrency.ts';
import { describeStartFault, interruptBySignal } from '../lib/lifecycle.ts';
import { choice, localPath } from '../lib/parsers.ts';
import type { SettingsOf } from '../lib/settings.ts';
import { isSocketAnswered } from '../lib/unix-socket.ts';
import { startChild } from './children.ts';
import { createNotices, withNotice } from '../lib/words/notice.ts';
import { toTerminal } from '../api/http/printable.ts';

const startTimeoutMs = 30_000;

export const demoSettings = {
  fs: {
    doc: 'filesystem of the mounted volume: ext4, xfs or btrfs',
    parse: choice('ext4', 'xfs', 'btrfs'),
    default: 'ext4',
  },
  dir: {
    doc: 'the --dir of a running `fairlead dev` to use; default: start a new one',
    parse: localPath,
    optional: true,
  },
} as const;

/** Takes two volumes through their lives, as sidecars and kubelet do. Status 0 when every step worked and nothing is left. */
export async function runDemo({ fs, dir: running }: SettingsOf<typeof demoSettings>): Promise<number> {
  if (process.getuid?.() !== 0) {
    complain('attaching loop devices and mounting filesystems requires root: run it as root');
    return 1;
  }
  const interrupt = interruptBySignal();
  // The terminal may be closed, and writing to it then fails.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const step = createStep(interrupt);
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-demo-'));
  try {
    const [file, device] = await walkBoth({ dir, running, interrupt, step, fs });
    await step('nothing is left behind', () => proveClean(dir));
    say(`\nProved: sha256 ${file.slice(0, 12)}… in a file and ${device.slice(0, 12)}… on a raw device were`);
    say('read back after detaching and attaching again; no mount, loop device or volume is left.');
    await rm(dir, { recursive: true });
    return 0;
  } catch (error) {
    complain(error === interrupt.reason ? describeStartFault(error) : `failed: ${describeStartFault(error)}`);
    // Removing a directory with a mount below it could remove a volume's content.
    await proveClean(dir).then(
      () => rm(dir, { recursive: true }),
      (left: unknown) => complain(`left behind in "${dir}": ${String(left)}`),
    );
    return 1;
  }
}

/** Shows each step on a line with its time, and a long one while it runs. Once `interrupt` is aborted, no further step starts. */
function createStep(interrupt: AbortSignal): Step {
  const notices = createNotices({ write: line => complain(line.trimEnd()) });
  return async (title, work) => {
    interrupt.throwIfAborted();
    const startMs = performance.now();
    let mark = '✗';
    try {
      const result = await withNotice(work(), { what: `the step "${title}"` }, notices);
      mark = '✓';
      return result;
    } finally {
      const time = `${(performance.now() - startMs).toFixed(1)} ms`;
      say(`  ${mark} ${title.padEnd(58)}${time.padStart(11)}`);
    }
  };
}

type WalkBothOptions = {
  readonly dir: string;
  readonly running: string | undefined;
  /** Ends the start at once; a later step ends first. */
  readonly interrupt: AbortSignal;
  readonly step: Step;
  readonly fs: string;
};

async function walkBoth({
  dir,
  running,
  interrupt,
  step,
  fs,
}: WalkBothOptions): Promise<readonly [string, string]> {
  await using stack = new AsyncDisposableStack();
  const kubeletDir = join(dir, 'kubelet');
  await mkdir(kubeletDir);
  const dev = running ?? join(dir, 'dev');
  if (!(running === undefined || existsSync(running)))
    throw new Error(`there is no directory "${running}": start fairlead dev --dir "${running}" first`);
  if (running === undefined) {
    const child = startChild('dev', {
      dir: dev,
      'kubelet-dir': kubeletDir,
      'log-level': 'error',
      context: 'none',
    });
    stack.defer(() => child.close());
    await step('start gateway, controller and node agent', () => unlessAborted(interrupt, child.ready));
  }
  const sockets = ['controller.sock', 'node.sock'].map(name => join(dev, name));
  const connect = (socket = ''): CsiClient =>
    stack.adopt(connectCsi(`unix://${socket}`), client => client.close());
  const [controller, node] = [connect(sockets[0]), connect(sockets[1])];
  await step('probe both CSI sockets', async () => {
    await Promise.all(sockets.map(path => waitForSocket(path, interrupt)));
    await Promise.all([controller, node].map(({ identity }) => identity.Probe({})));
  });
  const { node_id: nodeId } = await node.node.NodeGetInfo({});
  const machine = { controller, node, nodeId, dir: kubeletDir };
  say(`\nA volume with ${fs}:`);
  const file = await walk(machine, { step, name: 'demo-mount', fs });
  say('\nThe same as a raw block device:');
  return [file, await walk(machine, { step, name: 'demo-block' })];
}

/** Waits until a program serves the socket: a `fairlead dev` that has just started may need a moment. */
async function waitForSocket(path: string, interrupt: AbortSignal): Promise<void> {
  const isServed = async (): Promise<true | undefined> => {
    interrupt.throwIfAborted();
    return (await isSocketAnswered(path)) || undefined;
  };
  if (!(await poll(isServed, { everyMs: 100, timeoutMs: startTimeoutMs })))
    throw new Error(`no program serves "${path}": is fairlead dev running with this --dir?`);
}

/** Runs one step, shows its title and duration, and rethrows its error. */
type Step = <T>(title: string, work: () => Promise<T>) => Promise<T>;

/** The CSI clients, the node's id, and the directory in the place of kubelet's. */
type Machine = {
  readonly controller: CsiClient;
  readonly node: CsiClient;
  readonly nodeId: string;
  readonly dir: string;
};

/** The options of one volume's life. Without `fs` the volume is a raw block device. */
type WalkOptions = { readonly step: Step; readonly name: string; readonly fs?: string };

const sizeBytes = 512 * 1024 * 1024;
const contentBytes = 8 * 1024 * 1024;

/** Takes a volume through its life: written, detached, attached again, read, deleted. Returns the content's hash. */
async function walk(machine: Machine, { step, name, fs }: WalkOptions): Promise<string> {
  const { controller } = machine.controller;
  const access_mode = { mode: 'SINGLE_NODE_WRITER' } as const;
  const capability = { access_mode, ...(fs === undefined ? { block: {} } : { mount: { fs_type: fs } }) };
  const volume_capabilities = [capability];
  const request = { name, capacity_range: { required_bytes: sizeBytes }, volume_capabilities };
  const { volume } = await step('CreateVolume', () => controller.CreateVolume(request));
  const volume_id = volume?.volume_id ?? '';
  const { target, up, down } = planUse(machine, volume_id, capability);
  const remove = { DeleteVolume: () => controller.DeleteVolume({ volume_id }) };
  const runAll = async (steps: Steps): Promise<void> => {
    for (const [title, work] of Object.entries(steps)) await step(title, work);
  };
  const use = async (title: string, work: (path: string) => Promise<string>): Promise<string> => {
    await runAll(up);
    const hash = await step(title, () => work(fs === undefined ? target : join(target, 'file')));
    await runAll(down);
    return hash;
  };
  try {
    const written = await use('write and fsync 8 MiB', write);
    const found = await use('read it back after attaching again', read);
    await runAll(remove);
    if (found === written) return written;
    throw new Error(
      `volume "${volume_id}" has the wrong content: sha256 ${found} was read, ${written} written`,
    );
  } catch (error) {
    for (const undo of Object.values({ ...down, ...remove })) await undo().catch(() => {});
    throw error;
  }
}

/** The work of each step, by its title. */
type Steps = Readonly<Record<string, () => Promise<unknown>>>;

/** Plans the calls that publish a volume (`up`), and the calls that undo them (`down`), even after an incomplete `up`. */
function planUse(
  { controller: { controller }, node: { node }, nodeId: node_id, dir }: Machine,
  volume_id: string,
  volume_capability: object,
): { readonly target: string; readonly up: Steps; readonly down: Steps } {
  const staging_target_path = join(dir, 'staging', volume_id);
  const target_path = join(dir, 'pods', volume_id, 'volume');
  const volume = { volume_id, volume_capability };
  let stageRequest = { ...volume, staging_target_path, publish_context: {} };
  return {
    target: target_path,
    up: {
      async ControllerPublishVolume() {
        await mkdir(staging_target_path, { recursive: true });
        await mkdir(dirname(target_path), { recursive: true });
        const published = await controller.ControllerPublishVolume({ ...volume, node_id });
        stageRequest = { ...stageRequest, ...published };
      },
      NodeStageVolume: () => node.NodeStageVolume(stageRequest),
      NodePublishVolume: () => node.NodePublishVolume({ ...stageRequest, target_path }),
    },
    down: {
      NodeUnpublishVolume: () => node.NodeUnpublishVolume({ volume_id, target_path }),
      async NodeUnstageVolume() {
        await node.NodeUnstageVolume({ volume_id, staging_target_path });
        await rmdir(staging_target_path);
      },
      ControllerUnpublishVolume: () => controller.ControllerUnpublishVolume({ volume_id, node_id }),
    },
  };
}

async function write(path: string): Promise<string> {
  const content = randomBytes(contentBytes);
  // A block device exists already; a file in the filesystem must be created.
  await using file = await open(path, 'r+').catch(() => open(path, 'wx+'));
  await file.write(content, 0, contentBytes, 0);
  await file.sync();
  return sha256(content);
}

async function read(path: string): Promise<string> {
  const content = Buffer.alloc(contentBytes);
  await using file = await open(path, 'r');
  await file.read(content, 0, contentBytes, 0);
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
  const images = (await readdir(join(dir, 'dev', 'images')).catch(() => [])).filter(name =>
    name.endsWith('.img'),
  );
  if (images.length > 0) throw new Error(`the images ${images.join(', ')} are left`);
  for (const name of (await readdir('/sys/block')).filter(block => block.startsWith('loop'))) {
    const file = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '');
    if (file.startsWith(dir)) throw new Error(`loop device "/dev/${name}" is left on "${file.trim()}"`);
  }
}

function say(line: string): void {
  process.stdout.write(`${toTerminal(line)}\n`);
}

function complain(message: string): void {
  process.stderr.write(`fairlead demo: ${toTerminal(message)}\n`);
}
