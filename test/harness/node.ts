import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, truncateSync, writeFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { poll } from '../../src/lib/concurrency.ts';
import { protocols, toPublishContext, type AttachmentOf } from '../../src/api/attachment.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { UnaryCall } from '../../src/csi/call.ts';
import type { ExecResult } from '../../src/lib/exec.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { Agent } from '../../node-agent/volumes/agent.ts';
import type { Host } from '../../node-agent/host.ts';
import { createNode } from '../../node-agent/node.ts';
import { createMachine } from '../../node-agent/host/linux.ts';
import { createCache, type Usage } from '../../node-agent/state/cache.ts';
import { createWatch } from '../../node-agent/host/stuck-commands.ts';
import { ext4 } from '../../node-agent/filesystems/ext4.ts';
import type { PathOfVolume } from '../../node-agent/volumes/size.ts';
import { createReadings } from '../../node-agent/host/readings.ts';
import { measure as measureWith } from '../../node-agent/volumes/size.ts';
import { openRecords } from '../../node-agent/state/records.ts';
import { publish, unpublish, type PublishRequest } from '../../node-agent/volumes/publish.ts';
import { stage, unstage, type StageRequest } from '../../node-agent/volumes/stage.ts';
import { createFakeHost, type FakeHost } from '../fakes/host.ts';
import { directoryOf } from './machine.ts';

/** A machine to test on: the fake one, or this one, below a directory that is cleaned up afterwards. */
export interface Bench {
  readonly host: Host;
  /** The directory that holds `state`, `stage`, `pods` and the images. */
  readonly directory: string;
  /** Makes a backing file, blank or with a format, and returns its path. */
  makeImage(name: string, image?: ImageOptions): string;
  /** Changes a backing file's size and keeps its content. */
  resizeImage(path: string, sizeBytes: number): void;
  /** Copies a backing file and returns the copy's path. */
  copyImage(path: string): string;
}

/**
 * The size and content of an image. `content` is `blank`, a filesystem's name, `garbage`, or `half` for the remains of
 * a killed mkfs.
 */
export type ImageOptions = { readonly sizeBytes?: number; readonly content?: string };

export const MiB = 1024 * 1024;
/** A size that every filesystem accepts. */
export const defaultImageBytes = 320 * MiB;

/** The reason why tests on the real machine are skipped; undefined if they can run. */
export const whyNoMachine: string | undefined =
  process.getuid?.() === 0 ? findMissing(['losetup', 'mkfs.ext4', 'blkid', 'cmp']) : 'needs root';

/** Makes the options of a test on the real machine that needs these commands. */
export function real(...commands: readonly string[]): { readonly skip: string | false } {
  return { skip: whyNoMachine ?? findMissing(commands) ?? false };
}

/** The options of a test on the real machine that mounts filesystems in user space. */
export const realFuse = existsSync('/dev/fuse') ? real() : { skip: 'needs /dev/fuse' };

/** Says which commands are not installed, as a reason to skip; undefined if all are. */
export function findMissing(commands: readonly string[]): string | undefined {
  const missing = commands.filter(command => {
    try {
      execFileSync('which', [command], { stdio: 'ignore' });
      return false;
    } catch {
      return true;
    }
  });
  return missing.length > 0 ? `needs ${missing.join(', ')}` : undefined;
}

/** Opens a bench on the fake machine; tests may change the machine's internals. */
export function openFakeBench(): Bench & { readonly host: FakeHost } {
  const directory = '/bench';
  const host = createFakeHost(['stage', 'pods', 'state'].map(name => `${directory}/${name}`));
  return {
    host,
    directory,
    makeImage(name, { sizeBytes = defaultImageBytes, content = 'blank' } = {}) {
      const path = `${directory}/${name}`;
      host.state.images.set(path, { sizeBytes, content });
      return path;
    },
    resizeImage(path, sizeBytes) {
      const image = host.state.images.get(path);
      if (!image) throw new Error(`no image "${path}"`);
      if (image.content !== 'blank') image.filesystemBytes ??= image.sizeBytes;
      image.sizeBytes = sizeBytes;
    },
    copyImage(path) {
      const image = host.state.images.get(path);
      if (image) host.state.images.set(`${path}-copy`, { ...image });
      return `${path}-copy`;
    },
  };
}

/** The default of `--command-timeout`; other tests' writes can hold up a disk's flush for half of it. */
const commandTimeoutMs = 60_000;

export function openRealBench(t: Pick<TestContext, 'after'>): Bench {
  const directory = realpathSync(directoryOf(t));
  for (const name of ['stage', 'pods', 'state']) mkdirSync(`${directory}/${name}`);
  return {
    host: createMachine({ timeoutMs: commandTimeoutMs }),
    directory,
    makeImage(name, { sizeBytes = defaultImageBytes, content = 'blank' } = {}) {
      const path = `${directory}/${name}`;
      const bytes = content === 'garbage' || content === 'half' ? 'neither zeros nor a format' : '';
      // The file may be mounted already, so it is never overwritten.
      writeFileSync(path, bytes, { flag: 'wx' });
      truncateSync(path, sizeBytes);
      if (!['blank', 'garbage', 'half'].includes(content)) execFileSync(`mkfs.${content}`, ['-q', path]);
      return path;
    },
    resizeImage: truncateSync,
    copyImage(path) {
      execFileSync('cp', ['--sparse=always', path, `${path}-copy`]);
      return `${path}-copy`;
    },
  };
}

/** Starts an agent on the bench's state directory. */
export async function startAgent({ host, directory }: Bench): Promise<Agent> {
  return {
    host,
    log: silentLog,
    records: await openRecords(`${directory}/state/volumes`, host),
    base: { named: directory, real: directory },
    trust: { protocols, roots: [directory, `${directory}-disk`], never: [], drivers: new Map() },
    defaultFilesystem: ext4,
    cache: createCache(),
    watch: createWatch(),
    unmounting: { isHung: false, allowsLazy: false },
  };
}

/** Starts an agent after all records of the bench were lost. */
export async function startWithoutRecords(bench: Bench): Promise<Agent> {
  const directory = `${bench.directory}/state/volumes`;
  for (const name of await bench.host.list(directory)) await bench.host.removeFile(`${directory}/${name}`);
  return startAgent(bench);
}

/** A request to stage and publish a volume that is an image file. */
export type LoopRequest = StageRequest & PublishRequest & { readonly attachment: AttachmentOf<'loop'> };

/** Makes a request to stage and publish the image as volume `c.v`, as a filesystem for one writer. */
export function requestFor(bench: Bench, imagePath: string): LoopRequest {
  return {
    volumeId: 'c.v',
    stagingPath: `${bench.directory}/stage/v`,
    targetPath: `${bench.directory}/pods/v`,
    readonly: false,
    capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ext4' },
    attachment: {
      protocol: 'loop',
      path: imagePath,
      attachmentId: 'attachment-1',
      sizeBytes: 1 * MiB,
      readonly: false,
      mayFormat: true,
    },
  };
}

/** The capability of a block volume for one writer. */
export const block = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;

/** The differences between a test's volume and a blank ext4 volume for one writer. */
export type VolumeChange = {
  readonly image?: ImageOptions;
  readonly capability?: Partial<Capability>;
  readonly attachment?: Partial<AttachmentOf<'loop'>>;
};

/**
 * Opens a node in this process, on a bench or, given a test, on this machine: its agent, and a request for volume
 * `c.v`, whose image is on that bench.
 */
export async function openNode<B extends Bench = Bench>(
  on: B | Pick<TestContext, 'after'>,
  { image, capability, attachment }: VolumeChange = {},
): Promise<{ readonly bench: B; readonly agent: Agent; readonly request: LoopRequest }> {
  const bench = 'host' in on ? on : (openRealBench(on) as B);
  const made = requestFor(bench, bench.makeImage('image', image));
  const request = {
    ...made,
    capability: { ...made.capability, ...capability },
    attachment: { ...made.attachment, ...attachment },
  };
  return { bench, agent: await startAgent(bench), request };
}

/** Opens the node service on a bench for volume `c.v`, which is mounted with `noatime`. */
export async function openService(bench: Bench, change: VolumeChange = {}) {
  const capability = { mountFlags: ['noatime'], ...change.capability };
  const { agent, request } = await openNode(bench, { ...change, capability });
  return serviceOf(agent, request);
}

/**
 * Opens an agent's node service. `request` fits every call about the volume, and `ask` makes a call with it, plus the
 * given members.
 */
export function serviceOf(agent: Agent, volume: StageRequest & PublishRequest) {
  const { accessType, accessMode, fsType = '', mountFlags = [] } = volume.capability;
  const segments: Record<string, string> = {};
  const node = createNode(agent, { nodeId: 'n1', maxVolumes: 7, topology: async () => segments });
  const request = {
    volume_id: volume.volumeId,
    publish_context: toPublishContext(volume.attachment),
    staging_target_path: volume.stagingPath,
    target_path: volume.targetPath,
    volume_path: volume.targetPath,
    volume_capability: {
      access_type: accessType,
      mount:
        accessType === 'mount' ? { fs_type: fsType, mount_flags: mountFlags, volume_mount_group: '' } : null,
      block: accessType === 'block' ? {} : null,
      access_mode: { mode: accessMode },
    },
    readonly: false,
    secrets: {},
    volume_context: {},
  };
  const { signal } = new AbortController();
  const ask = async (rpc: keyof typeof node, changed: object = {}, timeoutMs = 60_000): Promise<unknown> => {
    const call: UnaryCall = { deadlineMs: Date.now() + timeoutMs, requestId: 'r', signal };
    return node[rpc]?.({ ...request, ...changed } as never, call);
  };
  return { request, ask, segments, node };
}

/** Makes a request for another volume on the same bench, with an image of its own. */
export function otherVolume(bench: Bench, request: LoopRequest, image?: ImageOptions): LoopRequest {
  return {
    ...request,
    volumeId: 'c.other',
    stagingPath: `${request.stagingPath}-other`,
    attachment: { ...request.attachment, path: bench.makeImage('other', image) },
  };
}

type Operations = StageRequest & PublishRequest;

/** Stages a volume and publishes it. */
export async function putUp(agent: Agent, request: Operations): Promise<void> {
  await stage(agent, request);
  await publish(agent, request);
}

/** Unpublishes a volume and unstages it. */
export async function takeDown(agent: Agent, request: Operations): Promise<void> {
  await unpublish(agent, request);
  await unstage(agent, request);
}

/**
 * Returns the agent on a machine that answers some commands in place of the tools; undefined leaves a command to its
 * tool.
 */
export function withCommands(
  agent: Agent,
  answer: (command: string, args: readonly string[]) => Partial<ExecResult> | undefined,
): Agent {
  const run: Host['run'] = async (command, args, options) => {
    const given = answer(command, args);
    if (!given) return agent.host.run(command, args, options);
    return { status: undefined, stdout: '', stderr: '', timedOut: false, ...given };
  };
  return { ...agent, host: { ...agent.host, run } };
}

/** Measures a volume as the node does for its first caller. */
export function measure(agent: Agent, at: PathOfVolume): Promise<Usage> {
  return measureWith(agent, createReadings(agent), at);
}

/** Waits until the condition holds, long enough for a busy machine. */
export async function until(holds: () => boolean): Promise<void> {
  const held = await poll(() => holds() || undefined, { everyMs: 50, timeoutMs: 120_000 });
  assert.ok(held, `it never came to ${holds}`);
}
