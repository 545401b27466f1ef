import { execFileSync } from 'node:child_process';
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
import { test, type TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { makeTemporaryDirectory, noRoot, removeTemporaryDirectory } from '../../../harness/machine.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';
import { contentOf, type OfferedBackend } from '../../../suites/backend-fixtures.ts';

/** The filesystems of the tested pools of images. */
export const poolFilesystems = ['ext4', 'xfs', 'btrfs'] as const;

/** One of `poolFilesystems`. */
type PoolFilesystem = (typeof poolFilesystems)[number];

/** The filesystems with reflinks, which copy at one instant. */
export const sharing: readonly PoolFilesystem[] = ['xfs', 'btrfs'];

export const MiB = 2 ** 20;

/** The reasons why a pool on a filesystem is not available here; false if it is. */
export const whyNoPool = Object.fromEntries(
  poolFilesystems.map(filesystem => [filesystem, findReason(filesystem)]),
) as Readonly<Record<PoolFilesystem, string | false>>;

function findReason(filesystem: PoolFilesystem): string | false {
  if (noRoot !== false) return noRoot;
  const directory = makeTemporaryDirectory();
  try {
    mountPool(directory, filesystem, 320 * MiB);
    return false;
  } catch (error) {
    return `cannot make and mount ${filesystem}: ${String(error).split('\n', 1)[0]}`;
  } finally {
    removeTemporaryDirectory(directory);
  }
}

/** Makes a filesystem of this size in a file and mounts it. Returns where. */
export function mountPool(directory: string, filesystem: PoolFilesystem, sizeBytes: number): string {
  const [file, mounted] = [join(directory, 'disk'), join(directory, 'mounted')];
  writeFileSync(file, '');
  truncateSync(file, sizeBytes);
  execFileSync(`mkfs.${filesystem}`, ['-q', file], { stdio: 'pipe' });
  mkdirSync(mounted);
  execFileSync('mount', ['--options', 'loop', '--', file, mounted], { stdio: 'pipe' });
  return mounted;
}

/** A pool on a filesystem of its own. */
export type Pool = Omit<OfferedBackend, 'unitBytes'> & {
  readonly filesystem: PoolFilesystem;
  readonly directory: string;
  /** Opens the same directory again, as a restarted gateway does. */
  reopen(): Promise<Backend>;
};

/** The filesystems (by default all) and their size (by default 512 MiB). */
export type PoolOptions = { readonly on?: readonly PoolFilesystem[]; readonly sizeBytes?: number };

/** Declares a test on each filesystem; it is skipped if the filesystem is not available. */
export function testPool(
  title: string,
  { on = poolFilesystems, sizeBytes }: PoolOptions,
  work: (pool: Pool, t: TestContext) => Promise<void>,
): void {
  for (const filesystem of on)
    test(`${filesystem}: ${title}`, { skip: whyNoPool[filesystem] }, async t =>
      work(await openPool(t, filesystem, sizeBytes), t),
    );
}

/** Makes a filesystem, mounts it and opens the image backend on it; everything is removed when the test ends. */
export async function openPool(
  t: TestContext,
  filesystem: PoolFilesystem,
  sizeBytes = 512 * MiB,
): Promise<Pool> {
  const temporary = realpathSync(makeTemporaryDirectory());
  const opened: Backend[] = [];
  t.after(async () => {
    for (const backend of opened) await backend.close?.();
    removeTemporaryDirectory(temporary);
  });
  const directory = mkdtempSync(join(mountPool(temporary, filesystem, sizeBytes), 'images-'));
  const reopen = async (): Promise<Backend> => {
    await opened.pop()?.close?.();
    const backend = await openPlugin(backends.image, { dir: directory, capacity: 2 ** 40 });
    opened.push(backend);
    return backend;
  };
  return {
    backend: (await reopen()) as OfferedBackend['backend'],
    filesystem,
    directory,
    content: contentOf(id => join(directory, `${id}.img`)),
    mutableParameters: { preallocate: 'true' },
    reopen,
  };
}

/** Lists the images of a pool. */
export function imagesIn(directory: string): readonly string[] {
  return readdirSync(directory)
    .filter(name => name.endsWith('.img'))
    .toSorted();
}

/** Returns the bytes that a file has on disk. */
export function allocatedOf(path: string): number {
  return statSync(path).blocks * 512;
}

/** Connects a loop device to a file; it is disconnected when the test's directory is removed. */
export function connectLoop(path: string): string {
  return execFileSync('losetup', ['--find', '--show', '--', path], { encoding: 'utf8' }).trim();
}

/** Disconnects a loop device and waits; a process that looks at it at this moment delays the end. */
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
