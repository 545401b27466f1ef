import { mkdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isAlive, namesIn } from './drafts.ts';
import { imageId, snapshotDirectory } from './paths.ts';
import { ignoreMissing } from './problems.ts';

/**
 * Room that processes have promised to files that they are about to make: each the target of a symbolic link, which
 * nothing follows, with the name of the file and the process.
 */
export interface Promises {
  readonly directory: string;
  make(path: string, sizeBytes: number): void;
  /** Removes the promise of this process, if there is one. */
  keep(path: string): void;
  /** All that processes which live have promised, by the file's path; what others left is removed. */
  read(): ReadonlyMap<string, number>;
}

const namePattern = /^(.+)\.(\d+)$/;
/** What this process has promised and not kept, by the paths of the links, whoever of its pools it is. */
const ours = new Set<string>();

/** The promises of the pool below `root`; none of them is this process's yet. */
export function openPromises(root: string): Promises {
  const directory = join(root, '.room');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const nameOf = (path: string): string => join(directory, `${basename(path)}.${process.pid}`);

  function pathOf(fileName: string): string {
    return join(imageId(fileName) === undefined ? snapshotDirectory(root) : root, fileName);
  }

  return {
    directory,
    make(path, sizeBytes) {
      const link = nameOf(path);
      // One of an earlier process with this id may be there.
      remove(link);
      symlinkSync(String(sizeBytes), link);
      ours.add(link);
    },
    keep(path) {
      if (ours.delete(nameOf(path))) remove(nameOf(path));
    },
    read() {
      const promised = new Map<string, number>();
      for (const name of namesIn(directory)) {
        const [, fileName = '', pid] = namePattern.exec(name) ?? [];
        if (pid === undefined) continue;
        const [path, link] = [pathOf(fileName), join(directory, name)];
        const isLeft = Number(pid) === process.pid ? !ours.has(link) : !isAlive(Number(pid));
        if (isLeft) remove(link);
        else promised.set(path, Math.max(readBytes(link), promised.get(path) ?? 0));
      }
      return promised;
    },
  };
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    ignoreMissing(error);
  }
}

/** None for one that was kept meanwhile. */
function readBytes(path: string): number {
  try {
    return Number(readlinkSync(path));
  } catch (error) {
    ignoreMissing(error);
    return 0;
  }
}
