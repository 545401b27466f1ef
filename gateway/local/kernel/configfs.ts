import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rmdir, symlink, unlink, writeFile } from 'node:fs/promises';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { exec, failureText } from '../../../src/lib/exec.ts';
import { codeOf } from '../files.ts';
import { boundCalls } from './bounded-calls.ts';

/**
 * The kernel's configfs: targets are directories, their attributes files, and their uses links. Creating an existing
 * entry and removing a missing one succeed. A call that the kernel may hold up, because of a silent node or of RCU,
 * returns a promise and runs in a thread. UNAVAILABLE when the kernel does not finish, for example on a hanging disk.
 */
export interface ConfigTree {
  /** The names in a directory; none when it is missing. */
  list(path: string): readonly string[];
  /** An attribute without its line end; undefined when it is missing. */
  read(path: string): string | undefined;
  write(path: string, value: string): void;
  /** Writes a value that only root can read. */
  writeSecret(path: string, value: string): void;
  create(path: string): void;
  /** Creates a directory in a separate process, which outlives this one. */
  createApart(path: string): Promise<void>;
  link(target: string, path: string): Promise<void>;
  writeSlowly(path: string, value: string): Promise<void>;
  unlink(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  /**
   * UNAVAILABLE while the kernel has not finished a call at or below the path. Any other access there, even a read,
   * could block this process as well.
   */
  requireFree(path: string): void;
}

/** The mount point of configfs. */
export const configfs = '/sys/kernel/config';

const timeoutMs = 20_000;

/**
 * Node has four threads for files and keys. The kernel may hold up three of them, so that one is left for other work.
 */
const boundedCalls = boundCalls({ maxCalls: 3, timeoutMs });

export function openConfigTree(bounded = boundedCalls): ConfigTree {
  return {
    list: path => ignoring(['ENOENT'], () => readdirSync(path)) ?? [],
    read: path => ignoring(['ENOENT'], () => readFileSync(path, 'utf8').replace(/\n$/, '')),
    write: (path, value) => writeFileSync(path, value),
    writeSecret(path, value) {
      chmodSync(path, 0o600);
      writeFileSync(path, value);
    },
    create: path => ignoring(['EEXIST'], () => mkdirSync(path)),
    async createApart(path) {
      const { status, stderr } = await exec('mkdir', ['--parents', '--', path], {
        timeoutMs,
      });
      if (status !== 0) throw unavailableProblem(`cannot create "${path}": ${failureText(stderr)}`);
    },
    link: (target, path) => bounded.run(path, () => symlink(target, path).catch(unless('EEXIST'))),
    writeSlowly: (path, value) => bounded.run(path, () => writeFile(path, value)),
    unlink: path => bounded.run(path, () => unlink(path).catch(unless('ENOENT'))),
    remove: path => bounded.run(path, () => rmdir(path).catch(unless('ENOENT'))),
    requireFree: bounded.requireFree,
  };
}

/** Sets an attribute unless it has the value already: many attributes cannot be set while their target is in use. */
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
