import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rmdir, symlink, unlink, writeFile } from 'node:fs/promises';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import { codeOf } from '../../backends/local/files.ts';
import { boundCalls } from './bounded-calls.ts';

/**
 * The kernel's configfs, in which targets are directories, attributes files, and uses links. What is there already, or is
 * gone already, is fine. What may wait, for a node that does not answer or for what all processors do (RCU), is promised: it
 * happens in a thread, and beside others. UNAVAILABLE where the kernel does not do it, as over a disk that hangs.
 */
export interface ConfigTree {
  /** The names in a directory; none where it is missing. */
  list(path: string): readonly string[];
  /** An attribute without its line end; undefined where it is missing. */
  read(path: string): string | undefined;
  write(path: string, value: string): void;
  /** Writes what nobody but root may read. */
  writeSecret(path: string, value: string): void;
  make(path: string): void;
  /** The same by a process of its own, which outlives this one. */
  makeApart(path: string): Promise<void>;
  link(target: string, path: string): Promise<void>;
  writeSlowly(path: string, value: string): Promise<void>;
  unlink(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  /**
   * UNAVAILABLE while the kernel has not done something at or below the path: whatever else comes there, a look as well, could
   * wait for that, and this process with it.
   */
  requireFree(path: string): void;
}

/** Where the kernel's targets are set up. */
export const configfs = '/sys/kernel/config';

const timeoutMs = 20_000;

/** Of the four threads that this process has for files and keys the kernel may hold up three, and the fourth is left for the rest. */
const boundedCalls = boundCalls({ atOnce: 3, timeoutMs });

/** The machine's own. */
export function openConfigTree(bounded = boundedCalls): ConfigTree {
  return {
    list: path => ignoring(['ENOENT'], () => readdirSync(path)) ?? [],
    read: path => ignoring(['ENOENT'], () => readFileSync(path, 'utf8').replace(/\n$/, '')),
    write: (path, value) => writeFileSync(path, value),
    writeSecret(path, value) {
      chmodSync(path, 0o600);
      writeFileSync(path, value);
    },
    make: path => ignoring(['EEXIST'], () => mkdirSync(path)),
    async makeApart(path) {
      const { status, stderr } = await exec('mkdir', ['--parents', '--', path], {
        timeoutMs,
      });
      if (status !== 0) throw unavailableProblem(`cannot make "${path}"`, stderr);
    },
    link: (target, path) => bounded.run(path, () => symlink(target, path).catch(unless('EEXIST'))),
    writeSlowly: (path, value) => bounded.run(path, () => writeFile(path, value)),
    unlink: path => bounded.run(path, () => unlink(path).catch(unless('ENOENT'))),
    remove: path => bounded.run(path, () => rmdir(path).catch(unless('ENOENT'))),
    requireFree: bounded.requireFree,
  };
}

/** Sets an attribute that has another value now: many cannot be set while their target is in use. */
export function setAttribute(tree: ConfigTree, path: string, value: string): void {
  if (tree.read(path) !== value) tree.write(path, value);
}

function ignoring<T>(codes: readonly string[], work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (codes.includes(codeOf(error))) return undefined;
    throw error;
  }
}

function unless(code: string): (error: unknown) => void {
  return error => {
    if (codeOf(error) !== code) throw error;
  };
}
