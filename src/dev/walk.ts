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

/** Steps that take back what was done, last first. */
type Undo = { readonly title: string; readonly work: () => Promise<unknown> }[];

/**
 * One volume's life: create, attach, stage, publish, write, and all the way back; then attached again to prove that the
 * content is still there; then deleted. Returns the content's hash; a content that differs is an error.
 */
export async function walk(machine: Machine, { step, name, fs }: WalkOptions): Promise<string> {
  const { controller } = machine.controller;
  const access_mode = { mode: 'SINGLE_NODE_WRITER' } as const;
  const capability = { access_mode, ...(fs === undefined ? { block: {} } : { mount: { fs_type: fs } }) };
  const undo: Undo = [];
  const undoOne = async (): Promise<void> => {
    const last = undo.at(-1);
    if (last) await step(last.title, last.work);
    undo.pop();
  };
  const use = async <T>(work: (target: string) => Promise<T>): Promise<T> => {
    const paths = await bringUp(machine, { step, undo, volume_id, volume_capability: capability });
    const result = await work(fs === undefined ? paths.target : join(paths.target, 'file'));
    for (let left = 3; left > 0; left--) await undoOne();
    await rmdir(paths.staging);
    return result;
  };
  const volume_capabilities = [capability];
  const request = { name, capacity_range: { required_bytes: sizeBytes }, volume_capabilities };
  const { volume } = await step('CreateVolume', () => controller.CreateVolume(request));
  const volume_id = volume?.volume_id ?? '';
  undo.push({ title: 'DeleteVolume', work: () => controller.DeleteVolume({ volume_id }) });
  try {
    const written = await use(path => step('write and fsync 8 MiB', () => write(path)));
    const found = await use(path => step('read it back after attaching again', () => read(path)));
    await undoOne();
    if (found === written) return written;
    throw new Error(`volume "${volume_id}" holds sha256 ${found}, but ${written} was written`);
  } catch (error) {
    for (const { work } of undo.toReversed()) await work().catch(() => {});
    throw error;
  }
}

type Used = {
  readonly step: Step;
  readonly undo: Undo;
  readonly volume_id: string;
  readonly volume_capability: object;
};

/** Everything up to NodePublishVolume; each undo is known before its step begins. */
async function bringUp(
  { controller: { controller }, node: { node }, nodeId: node_id, dir }: Machine,
  { step, undo, volume_id, volume_capability }: Used,
): Promise<{ readonly staging: string; readonly target: string }> {
  const staging_target_path = join(dir, 'staging', volume_id);
  const target_path = join(dir, 'pods', volume_id, 'volume');
  await mkdir(staging_target_path, { recursive: true });
  await mkdir(dirname(target_path), { recursive: true });
  const run = <T>(title: string, work: () => Promise<T>, back: Undo[number]): Promise<T> => {
    undo.push(back);
    return step(title, work);
  };
  const named = { volume_id, volume_capability };
  const { publish_context } = await run(
    'ControllerPublishVolume',
    () => controller.ControllerPublishVolume({ ...named, node_id }),
    {
      title: 'ControllerUnpublishVolume',
      work: () => controller.ControllerUnpublishVolume({ volume_id, node_id }),
    },
  );
  const staged = { ...named, publish_context, staging_target_path };
  await run('NodeStageVolume', () => node.NodeStageVolume(staged), {
    title: 'NodeUnstageVolume',
    work: () => node.NodeUnstageVolume({ volume_id, staging_target_path }),
  });
  await run('NodePublishVolume', () => node.NodePublishVolume({ ...staged, target_path }), {
    title: 'NodeUnpublishVolume',
    work: () => node.NodeUnpublishVolume({ volume_id, target_path }),
  });
  return { staging: staging_target_path, target: target_path };
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
