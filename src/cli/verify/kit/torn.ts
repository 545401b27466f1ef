import type { Disk } from './disk.ts';
import { expect } from '../finding.ts';

/** A disk that is written in order. */
export type Written = { readonly disk: Disk; readonly sizeBytes: number };

const places = 16;
/** How often all places are written before the work begins, and after it has ended. */
const rounds = 4;

/**
 * Writes a number that grows to places all over the disks, one after the other and again and again, while the work is
 * done: at any one point in time no place has a greater number than one before it, or one that is less by more than 1.
 */
export async function writeOn<T>(disks: readonly Written[], work: () => Promise<T>): Promise<T> {
  let isOver = false;
  let left = rounds;
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const writing = (async () => {
    for (let number = 1; left > 0; number++) {
      for (const { disk, offset } of placesOf(disks)) await disk.write(offset, toBytes(number));
      if (number === rounds) resolve();
      if (isOver) left--;
    }
  })();
  try {
    await Promise.race([begun, writing]);
    return await work();
  } finally {
    isOver = true;
    await writing;
  }
}

/** A fault unless what is on the disks was there at one point in time. */
export async function requireUntorn(disks: readonly Written[]): Promise<void> {
  const numbers: number[] = [];
  for (const { disk, offset } of placesOf(disks)) numbers.push((await disk.read(offset, 8)).readUIntBE(2, 6));
  const isSorted = numbers.every((number, index) => index === 0 || number <= (numbers[index - 1] ?? 0));
  const isClose = (numbers[0] ?? 0) - (numbers.at(-1) ?? 0) <= 1;
  expect(isSorted && isClose, `numbers of one point in time, not ${numbers.join(' ')}`);
}

function placesOf(disks: readonly Written[]): readonly { readonly disk: Disk; readonly offset: number }[] {
  return disks.flatMap(({ disk, sizeBytes }) => {
    const step = Math.floor(sizeBytes / places / 4_096) * 4_096;
    return Array.from({ length: places }, (_, index) => ({ disk, offset: index * step }));
  });
}

function toBytes(number: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUIntBE(number, 2, 6);
  return bytes;
}
