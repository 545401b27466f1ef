import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { describeFailure, runToEnd } from '../host/commands.ts';
import type { Device } from '../connector.ts';
import type { Host } from '../host.ts';

export type Range = { readonly offset: number; readonly length: number };

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;
const TiB = 1024 * GiB;

const sampleCount = 16;
const sampleBytes = MiB;
/** Maximum ranges of a device that are read at the same time. */
const maxReaders = 3;

/**
 * Throws unless a device reads as zeros at all places where known formats keep a superblock or a copy of it. One command
 * starts the readers of all ranges, since each start by Node.js costs as much as such a reader.
 */
export async function proveBlank({ path, sizeBytes }: Device, host: Host): Promise<void> {
  const readers = superblockRanges(sizeBytes).map(({ offset, length }) => [
    `--bytes=${length}`,
    `--ignore-initial=${offset}:0`,
    '--',
    path,
    '/dev/zero',
  ]);
  const counts = [`--max-args=${readers[0]?.length}`, `--max-procs=${maxReaders}`];
  const line = {
    command: 'xargs',
    args: ['--null', ...counts, '--', 'cmp'],
    input: readers.flat().join('\0'),
  };
  const result = await runToEnd(host, line);
  if (result.status === 0) return;
  // Without a place that differs, a range could not be read, or the device ended early.
  if (result.stdout === '') throw unavailableProblem(describeFailure(line, result));
  throw preconditionProblem(
    `device "${path}" is not blank: a sample of it differs from zero; refusing to format it`,
  );
}

/** Lists the ranges of superblocks and their copies on a device of this size, in order; adjacent ranges are merged. */
export function superblockRanges(sizeBytes: number): readonly Range[] {
  const ranges = [
    // Every primary superblock, partition tables, LUKS with its second header, LVM, swap.
    { offset: 0, length: 5 * MiB },
    // The copies at the end: GPT, md, ZFS, NTFS, ...
    { offset: sizeBytes - MiB, length: MiB },
    ...btrfsMirrors,
    ...ext4Backups,
    ...ocfs2Backups,
    ...xfsGroups(sizeBytes),
    ...samples(sizeBytes),
  ];
  const merged: { start: number; end: number }[] = [];
  for (const { offset, length } of ranges.sort((a, b) => a.offset - b.offset)) {
    const [start, end] = [Math.max(0, offset), Math.min(offset + length, sizeBytes)];
    const last = merged.at(-1);
    if (end <= start) continue;
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged.map(({ start, end }) => ({ offset: start, length: end - start }));
}

const btrfsMirrors: readonly Range[] = [64 * MiB, 256 * GiB].map(offset => ({ offset, length: 64 * KiB }));

/** ext4: a group has as many blocks as a block has bits; sparse_super keeps copies in groups 1 and the powers of 3, 5, 7. */
const ext4Backups: readonly Range[] = [
  ...[1 * KiB, 2 * KiB, 4 * KiB].flatMap(blockSize =>
    [1, 3, 5, 7].map(group => ({ offset: group * 8 * blockSize * blockSize, length: 8 * KiB })),
  ),
  { offset: 8 * (64 * KiB) ** 2, length: 64 * KiB },
  // With bigalloc, a bit represents a cluster: by default 16 blocks of 4 KiB.
  ...[1, 3, 5, 7].map(group => ({ offset: group * 2 * GiB, length: 8 * KiB })),
];

const ocfs2Backups: readonly Range[] = [GiB, 4 * GiB, 16 * GiB, 64 * GiB, 256 * GiB, TiB].map(offset => ({
  offset,
  length: 8 * KiB,
}));

/** Samples for data without a known format, as a workload writes to a raw device: a range of each part of the device. */
function samples(sizeBytes: number): readonly Range[] {
  const step = sizeBytes / sampleCount;
  return Array.from({ length: sampleCount }, (_, index) => ({
    offset: Math.floor((index * step) / MiB) * MiB,
    length: sampleBytes,
  }));
}

/**
 * XFS divides a device into 4 groups of at most 1 TiB, or into 8, 16 or 32 on disk arrays. Each group starts with a copy of
 * the superblock. The window allows for rounding to blocks and stripes.
 */
function xfsGroups(sizeBytes: number): readonly Range[] {
  const starts = [1 / 4, 1 / 2, 3 / 4, 1 / 8, 1 / 16, 1 / 32].map(part => part * sizeBytes);
  return [...starts, TiB].map(start => ({
    offset: Math.floor(start / KiB) * KiB - MiB,
    length: 2 * MiB,
  }));
}
