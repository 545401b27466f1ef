import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rmdir, symlink, unlink, writeFile } from 'node:fs/promises';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import { codeOf } from '../../backends/local/files.ts';

/**
 * The kernel's configfs, in which targets are directories, attributes files, and uses links. What is there already, or is
 * gone already, is fine. What may wait, for a node that does not answer or for what all processors do (RCU), is promised: it
 * happens in a thread, and beside others.
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
  /** The same by a process of its own, which outlives this one. UNAVAILABLE where the kernel does not do it. */
  makeApart(path: string): Promise<void>;
  link(target: string, path: string): Promise<void>;
  writeSlowly(path: string, value: string): Promise<void>;
  unlink(path: string): Promise<void>;
  remove(path: string): Promise<void>;
}

/** Where the kernel's targets are set up. */
export const configfs = '/sys/kernel/config';

const apartTimeoutMs = 20_000;

/** The machine's own. */
export function openConfigTree(): ConfigTree {
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
        timeoutMs: apartTimeoutMs,
      });
      if (status !== 0) throw unavailableProblem(`cannot make "${path}"`, stderr);
    },
    link: (target, path) => symlink(target, path).catch(unless('EEXIST')),
    writeSlowly: (path, value) => writeFile(path, value),
    unlink: path => unlink(path).catch(unless('ENOENT')),
    remove: path => rmdir(path).catch(unless('ENOENT')),
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
