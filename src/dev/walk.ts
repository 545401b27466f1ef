import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CsiClient } from '../csi/client.ts';

/** Runs one step and shows its title, and how long it took. What it throws is thrown on. */
export type Step = <T>(title: string, work: () => Promise<T>) => Promise<T>;

/** Where a walk happens: the two CSI sockets, the node's id, and the directory that stands for kubelet's. */
export type Machine = {
  readonly controller: CsiClient;
  readonly node: CsiClient;
  readonly nodeId: string;
  readonly dir: string;
};

/** What is walked: a volume with a filesystem, or without one a raw block device. */
export type WalkOptions = { readonly step: Step; readonly name: string; readonly fs?: string };

const sizeBytes = 512 * 1024 * 1024;
const contentBytes = 8 * 1024 * 1024;

/** One volume's life, with its content read again after a second attach. Returns the content's hash. */
export async function walk(machine: Machine, { step, name, fs }: WalkOptions): Promise<string> {
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
    throw new Error(`volume "${volume_id}" holds sha256 ${found}, but ${written} was written`);
  } catch (error) {
    for (const undo of Object.values({ ...down, ...remove })) await undo().catch(() => {});
    throw error;
  }
}

/** What is done, by its title. */
type Steps = Readonly<Record<string, () => Promise<unknown>>>;

/** Everything up to NodePublishVolume, and all the way back, which may be done whatever was done before. */
function planUse(
  { controller: { controller }, node: { node }, nodeId: node_id, dir }: Machine,
  volume_id: string,
  volume_capability: object,
): { readonly target: string; readonly up: Steps; readonly down: Steps } {
  const staging_target_path = join(dir, 'staging', volume_id);
  const target_path = join(dir, 'pods', volume_id, 'volume');
  const named = { volume_id, volume_capability };
  let staged = { ...named, staging_target_path, publish_context: {} };
  return {
    target: target_path,
    up: {
      async ControllerPublishVolume() {
        await mkdir(staging_target_path, { recursive: true });
        await mkdir(dirname(target_path), { recursive: true });
        staged = { ...staged, ...(await controller.ControllerPublishVolume({ ...named, node_id })) };
      },
      NodeStageVolume: () => node.NodeStageVolume(staged),
      NodePublishVolume: () => node.NodePublishVolume({ ...staged, target_path }),
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
  // A device is there; a file is made.
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
