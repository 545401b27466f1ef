import { execFile } from 'node:child_process';
import { constants, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { copyFile, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Backend, KnownVolume } from '../../gateway/backend.ts';
import { backends } from '../../gateway/backends/index.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import { newVolume } from '../suites/backend.ts';
import { median, timed, type Bench, type Figure } from './figure.ts';
import { openPlugin } from '../harness/open-plugin.ts';

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const diskBytes = 24 * GiB;
const rounds = 6;
const run = promisify(execFile);

/** How long a clone takes, and on what that depends. */
export const cloneBench: Bench = {
  name: 'clone',
  doc: 'a durable clone of a volume of 10 GiB with 1 GiB of data by the image backend, beside the same by hand',
  run: measureClones,
};

async function measureClones(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const filesystem of ['xfs', 'btrfs'])
    figures.push(...(await withPool(filesystem, pool => measureShared(filesystem, pool))));
  figures.push(...(await withPool('ext4', measureCopied)));
  return figures;
}

type Pool = { readonly backend: Backend; readonly directory: string };

/** One way to copy the large volume, and how to take the copy away again. */
type Way = { readonly copy: () => Promise<unknown>; readonly remove: () => Promise<unknown> };

async function measureShared(filesystem: string, pool: Pool): Promise<readonly Figure[]> {
  const large = await fillVolume(pool, { id: 'a.large', sizeBytes: 10 * GiB, dataBytes: GiB });
  const small = await fillVolume(pool, { id: 'a.small', sizeBytes: GiB, dataBytes: 100 * MiB });
  const [ours, oursSmall, call, command] = await measureByTurns([
    clone(pool, large),
    clone(pool, small),
    byHand(pool, async (source, target) => {
      await copyFile(source, target, constants.COPYFILE_FICLONE_FORCE);
      await syncFile(target);
    }),
    byHand(pool, async (source, target) => {
      await run('cp', ['--reflink=always', '--', source, target]);
      await run('sync', ['--', target]);
    }),
  ]);
  const name = `clone on ${filesystem}`;
  const floors = [
    { name: 'FICLONE and fsync', value: call },
    { name: 'cp --reflink=always; sync', value: command },
    { name: 'our clone of 1 GiB with 100 MiB of data', value: oursSmall },
  ];
  return toFigures(name, ours, floors);
}

async function measureCopied(pool: Pool): Promise<readonly Figure[]> {
  const large = await fillVolume(pool, { id: 'a.large', sizeBytes: 10 * GiB, dataBytes: GiB });
  const [ours, durable, cached] = await measureByTurns([
    clone(pool, large),
    byHand(pool, async (source, target) => {
      await copySparsely(source, target);
      await run('sync', ['--', target]);
    }),
    byHand(pool, copySparsely),
  ]);
  const floors = [
    { name: 'cp --sparse=always; sync', value: durable, target: '≤ 1.2×' },
    { name: 'cp --sparse=always, not durable', value: cached },
  ];
  return toFigures('clone on ext4', ours, floors);
}

type Floor = { readonly name: string; readonly value: number | undefined; readonly target?: string };

function toFigures(name: string, value = 0, floors: readonly Floor[] = []): readonly Figure[] {
  return floors.map(({ name: floorName, value: floor = 0, target }, index) => ({
    name: index === 0 ? name : '',
    value,
    unit: 'ms',
    floor: { name: floorName, value: floor },
    ...(target !== undefined && { target }),
  }));
}

function clone({ backend }: Pool, volume: KnownVolume): Way {
  const source = { kind: 'volume', volume, attachedForWriting: false } as const;
  return {
    copy: () => backend.create(newVolume({ id: 'a.clone', source, requiredBytes: volume.sizeBytes })),
    remove: () => backend.delete({ id: 'a.clone' }),
  };
}

function byHand({ directory }: Pool, copy: (source: string, target: string) => Promise<unknown>): Way {
  const target = join(directory, 'by-hand');
  return { copy: () => copy(join(directory, 'a.large.img'), target), remove: () => rm(target) };
}

/** The medians, in milliseconds. All ways by turns, so that a noisy moment meets each; nothing is left to write back before. */
async function measureByTurns(ways: readonly Way[]): Promise<readonly number[]> {
  const samples = ways.map((): number[] => []);
  for (let turn = 0; turn < rounds * ways.length; turn++) {
    // Each round starts with another, so that none always follows the same one.
    const index = (turn + Math.floor(turn / ways.length)) % ways.length;
    const way = ways[index];
    await run('sync');
    if (way) samples[index]?.push(await timed(way.copy));
    await way?.remove();
  }
  return samples.map(median);
}

type Filled = { readonly id: string; readonly sizeBytes: number; readonly dataBytes: number };

/** A volume with its data in pieces of 4 MiB all over it, durable. */
async function fillVolume(
  { backend, directory }: Pool,
  { id, sizeBytes, dataBytes }: Filled,
): Promise<KnownVolume> {
  await backend.create(newVolume({ id, requiredBytes: sizeBytes }));
  const piece = Buffer.alloc(4 * MiB, 'data');
  const pieces = dataBytes / piece.length;
  const path = join(directory, `${id}.img`);
  await using file = await open(path, 'r+');
  for (let index = 0; index < pieces; index++)
    await file.write(piece, 0, piece.length, Math.floor(sizeBytes / pieces / MiB) * MiB * index);
  await file.sync();
  return { id, sizeBytes, parameters: {} };
}

async function copySparsely(source: string, target: string): Promise<void> {
  await run('cp', ['--sparse=always', '--', source, target]);
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

async function withPool<T>(filesystem: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const temporary = makeTemporaryDirectory();
  try {
    const [disk, directory] = [join(temporary, 'disk'), join(temporary, 'pool')];
    writeFileSync(disk, '');
    truncateSync(disk, diskBytes);
    mkdirSync(directory);
    await run(`mkfs.${filesystem}`, ['-q', disk]);
    await run('mount', ['--options', 'loop', '--', disk, directory]);
    const backend = await openPlugin(backends.image, { dir: directory, capacity: 100 * GiB });
    try {
      return await work({ backend, directory });
    } finally {
      await backend.close?.();
    }
  } finally {
    removeTemporaryDirectory(temporary);
  }
}
