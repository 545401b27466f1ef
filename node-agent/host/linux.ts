import { constants, existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, open, realpath, rename, rmdir, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { environmentWith, exec } from '../../src/lib/exec.ts';
import type { Host, PathKind } from '../host.ts';
import { openWithoutLinks, throughOpened } from './opened.ts';
import { createMountReader } from '../../src/lib/linux/mountinfo.ts';

/**
 * The environment of commands: only the variables that find programs and libraries. In a cluster with many services there are
 * hundreds of other variables, which each start of a command would copy.
 */
const environment = environmentWith({
  PATH: process.env['PATH'],
  LD_LIBRARY_PATH: process.env['LD_LIBRARY_PATH'],
});

/** Creates the host for the machine of this process; `timeoutMs` is the default deadline of a command. */
export function createMachine({ timeoutMs }: { readonly timeoutMs: number }): Host {
  const readMounts = createMountReader(() => readFileSync('/proc/self/mountinfo', 'utf8'));
  let mayStart = Promise.resolve();
  return {
    async run(command, args, { timeoutMs: own = timeoutMs, input, mute = false, opened = [] } = {}) {
      // Yields the event loop between the starts of commands, so that fifty volumes at once do not delay a probe.
      const previousStart = mayStart;
      mayStart = previousStart.then(() => setImmediate());
      await previousStart;
      return exec(
        command,
        args.map(argument => throughOpened(argument, opened)),
        {
          timeoutMs: own,
          mute,
          environment,
          ...(input !== undefined && { stdin: input }),
          ...(opened.length > 0 && { descriptors: opened.map(({ descriptor }) => descriptor) }),
        },
      );
    },
    mounts: async () => readMounts(),
    readText: async path => readText(path),
    isThere: async path => existsSync(path),
    kindOf: async path => kindOf(path),
    realPath: path => realpath(path),
    list: async path => list(path),
    createDirectory: path => unless('EEXIST', undefined, mkdir(path, { mode: 0o750 })),
    createFile,
    removeDirectory: path => unless('ENOENT', undefined, rmdir(path)),
    removeFile: path => unless('ENOENT', undefined, unlink(path)),
    open: async path => openWithoutLinks(path),
    append: (path, text) => appendFile(path, text, { mode: 0o600 }),
    writeDurably,
  };
}

/** Errors that count as a missing file: ENODEV for a device that vanishes, EINVAL or ENXIO for one without such a value. */
const absent: ReadonlySet<string> = new Set(['ENOENT', 'ENODEV', 'EINVAL', 'ENXIO']);

/** Reads a file synchronously: the kernel's files do not block, and the thread pool would cost ten times the read. */
function readText(path: string): string | undefined {
  // Most files are missing when many devices are searched, and an error costs more than a check.
  if (!existsSync(path)) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (absent.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

async function unless<T, U>(code: string, instead: U, work: Promise<T>): Promise<T | U> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return instead;
    throw error;
  }
}

function list(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  try {
    return readdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Returns the kind of a path, synchronously: `open` has looked at the same paths, so they are in the kernel's cache. */
function kindOf(path: string): PathKind {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return 'nothing';
  if (stats.isSymbolicLink()) return 'link';
  if (stats.isDirectory()) return 'directory';
  if (!stats.isFile()) return 'other';
  return stats.size === 0 ? 'file' : 'filled';
}

async function createFile(path: string): Promise<void> {
  const { O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
  const file = await open(path, O_CREAT | O_WRONLY | O_NOFOLLOW, 0o640);
  await file.close();
}

async function writeDurably(path: string, text: string): Promise<void> {
  const draft = `${path}.tmp`;
  await writeFile(draft, text, { mode: 0o600, flush: true });
  await rename(draft, path);
  await using directory = await open(dirname(path));
  await directory.sync();
}
