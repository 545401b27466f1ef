import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Backend, KnownSnapshot, KnownVolume, Snapshots } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { makeTemporaryDirectory, noRoot, removeTemporaryDirectory } from '../../../harness/machine.ts';
import { contentOf, type Content } from '../../../suites/backend-members.ts';
import { openPlugin } from '../../../harness/open-plugin.ts';

/** Filesystems that a pool of images is tested on. */
export const poolFilesystems = ['ext4', 'xfs', 'btrfs'] as const;

/** One of `poolFilesystems`. */
export type PoolFilesystem = (typeof poolFilesystems)[number];

/** Those that copy by sharing blocks, at one instant. */
export const sharing: ReadonlySet<PoolFilesystem> = new Set(['xfs', 'btrfs']);

export const MiB = 2 ** 20;

/** Why a pool on this filesystem cannot be had here; undefined when it can. */
export function whyNoPool(filesystem: PoolFilesystem): string | undefined {
  if (noRoot !== false) return noRoot;
  const [image, place] = ['disk', 'mounted'];
  const directory = makeTemporaryDirectory();
  try {
    mountPool(directory, filesystem, { image, place, sizeBytes: 320 * MiB });
    return undefined;
  } catch (error) {
    return `cannot make and mount ${filesystem}: ${String(error).split('\n', 1)[0]}`;
  } finally {
    removeTemporaryDirectory(directory);
  }
}

type Disk = { readonly image: string; readonly place: string; readonly sizeBytes: number };

function mountPool(directory: string, filesystem: PoolFilesystem, { image, place, sizeBytes }: Disk): string {
  const [file, mounted] = [join(directory, image), join(directory, place)];
  writeFileSync(file, '');
  truncateSync(file, sizeBytes);
  execFileSync(`mkfs.${filesystem}`, ['-q', file], { stdio: 'pipe' });
  mkdirSync(mounted);
  execFileSync('mount', ['--options', 'loop', '--', file, mounted], { stdio: 'pipe' });
  return mounted;
}

/** A pool on a filesystem of its own. */
export interface Pool {
  readonly backend: Backend;
  readonly snapshots: Required<Snapshots>;
  /** Where the images lie. */
  readonly directory: string;
  readonly content: Content;
  readonly mutableParameters: Readonly<Record<string, string>>;
  /** Opens the same directory again, as a restarted gateway does. */
  reopen(): Promise<Backend>;
}

/** What a pool is made with; the disk has 512 MiB and the pool any number when nothing else is said. */
export type PoolOptions = { readonly sizeBytes?: number; readonly capacityBytes?: number };

/** Makes a filesystem, mounts it and opens the image backend on it; all of it is gone when the test ends. */
export async function openPool(
  t: TestContext,
  filesystem: PoolFilesystem,
  { sizeBytes = 512 * MiB, capacityBytes }: PoolOptions = {},
): Promise<Pool> {
  const temporary = realpathSync(makeTemporaryDirectory());
  const opened: Backend[] = [];
  t.after(async () => {
    for (const backend of opened) await backend.close?.();
    removeTemporaryDirectory(temporary);
  });
  const mounted = mountPool(temporary, filesystem, { image: 'disk', place: 'mounted', sizeBytes });
  const directory = mkdtempSync(join(mounted, 'images-'));
  const reopen = async (): Promise<Backend> => {
    await opened.pop()?.close?.();
    const backend = await openPlugin(backends.image, { dir: directory, capacity: capacityBytes });
    opened.push(backend);
    return backend;
  };
  const backend = await reopen();
  return {
    backend,
    snapshots: backend.snapshots as Required<Snapshots>,
    directory,
    content: contentOf(id => join(directory, `${id}.img`)),
    mutableParameters: { preallocate: 'true' },
    reopen,
  };
}

/** The images of a pool. */
export function imagesIn(directory: string): readonly string[] {
  return readdirSync(directory)
    .filter(name => name.endsWith('.img'))
    .toSorted();
}

/** Cuts a snapshot and tells what the gateway would know of it. */
export async function cutSnapshot(
  { snapshots }: Pick<Pool, 'snapshots'>,
  id: string,
  cut: { readonly volume: KnownVolume; readonly attachedForWriting?: boolean },
): Promise<KnownSnapshot> {
  const made = await snapshots.create({ id, attachedForWriting: false, parameters: {}, ...cut });
  return { id, volumeId: cut.volume.id, sizeBytes: made.sizeBytes };
}

/** The hash of all bytes of a file. */
export function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** The bytes that a file has on disk. */
export function allocatedOf(path: string): number {
  return statSync(path).blocks * 512;
}

/** Connects a loop device to a file; it is let go when the test's directory is removed. */
export function connectLoop(path: string, ...flags: readonly string[]): string {
  const args = ['--find', '--show', ...flags, '--', path];
  return execFileSync('losetup', args, { encoding: 'utf8' }).trim();
}

/** Lets a loop device go, and waits until it has: whoever looks at it at this moment holds it a little longer. */
export function disconnectLoop(device: string): void {
  const file = backingOf(device);
  execFileSync('losetup', ['--detach', device]);
  const isHeld = (): boolean => file !== '' && backingOf(device) === file;
  for (let tries = 0; isHeld() && tries < 250; tries++) execFileSync('sleep', ['0.02']);
}

function backingOf(device: string): string {
  const path = `/sys/block/${basename(device)}/loop/backing_file`;
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
