import { closeSync, ftruncateSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * How large one file in the directory can be, at most `wantedBytes`, in whole steps: tried out with one that has no
 * name, because no call tells. Where that cannot be tried, nothing is known to be too large.
 */
export function largestFileBytes(root: string, wantedBytes: number, stepBytes: number): number {
  const fd = openNameless(join(root, `.largest-${process.pid}`));
  if (fd === undefined) return wantedBytes;
  try {
    if (takes(fd, wantedBytes)) return wantedBytes;
    let [fits, tooMany] = [0, Math.ceil(wantedBytes / stepBytes)];
    while (tooMany - fits > 1) {
      const steps = Math.floor((fits + tooMany) / 2);
      if (takes(fd, steps * stepBytes)) fits = steps;
      else tooMany = steps;
    }
    return fits * stepBytes;
  } finally {
    closeSync(fd);
  }
}

function openNameless(path: string): number | undefined {
  try {
    const fd = openSync(path, 'wx', 0o600);
    unlinkSync(path);
    return fd;
  } catch {
    return undefined;
  }
}

function takes(fd: number, sizeBytes: number): boolean {
  try {
    ftruncateSync(fd, sizeBytes);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EFBIG';
  }
}
