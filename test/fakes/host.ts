import { dirname } from 'node:path';
import type { Host, PathKind } from '../../node-agent/host.ts';
import { isAtOrBelow } from '../../src/lib/linux/mountinfo.ts';
import type { ExecResult } from '../../src/lib/exec.ts';
import { addDirectory, emptyState, type FakeState } from './state.ts';
import { runFakeTool } from './tools.ts';

/**
 * The step that fails, whether it takes effect, and the kind of failure: an error, a killed command, or the agent's
 * end.
 */
export type FakeFault = {
  readonly step: number;
  readonly when: 'before' | 'after';
  readonly how: 'error' | 'crash';
};

/** A host with the fake machine's state and the number of steps taken on it. */
export interface FakeHost extends Host {
  readonly state: FakeState;
  readonly steps: number;
  /** Makes one step fail, counted from now; undefined ends all faults. */
  failAt(fault: FakeFault | undefined): void;
}

/** Thrown by every step from a crash on, until the fault is removed. */
export class Crash extends Error {}

/**
 * Creates a machine with these directories and nothing mounted. At or below a mount, every call except a command fails:
 * on a real machine such a call would hang with the volume.
 */
export function createFakeHost(directories: readonly string[] = []): FakeHost {
  const state = emptyState();
  for (const directory of directories) addDirectory(state, directory);
  const faults = createFaults();
  const step = faults.step;
  /** Fails a call on a path where a volume is mounted: the agent may not make it, because it can hang. */
  const at = async <T>(syscall: string, path: string, work: () => T): Promise<T> => {
    const mount = state.mounts.find(({ path: mounted }) => isAtOrBelow(path, mounted));
    if (mount)
      throw new Error(`${syscall} of "${path}" in the agent itself, where "${mount.path}" is mounted`);
    return step(work, { at: { syscall, path } });
  };
  const write = (path: string, text: string) =>
    at('open', path, () => {
      make(state, path, 'file');
      state.texts.set(path, text);
    });
  return {
    state,
    get steps() {
      return faults.taken();
    },
    failAt: faults.failAt,
    run: (command, args, options) =>
      step(() => runFakeTool(state, command, args, options?.input), {
        instead: killed => (killed ? killedResult : { ...killedResult, status: 1, timedOut: false }),
      }),
    mounts: () => step(() => [...state.mounts]),
    readText: path => at('open', path, () => readText(state, path)),
    isThere: path => at('access', path, () => state.paths.has(path)),
    kindOf: path => at('lstat', path, () => kindOf(state, path)),
    realPath: path => at('realpath', path, () => path),
    list: path => at('scandir', path, () => list(state, path)),
    createDirectory: path => at('mkdir', path, () => make(state, path, 'directory')),
    createFile: path => at('open', path, () => make(state, path, 'file')),
    open: path =>
      at('open', path, () => ({
        path,
        descriptor: 0,
        at: path,
        isInPlace: () => true,
        [Symbol.dispose]: () => {},
      })),
    removeDirectory: path => at('rmdir', path, () => removeDirectory(state, path)),
    removeFile: path =>
      at('unlink', path, () => {
        state.paths.delete(path);
        state.texts.delete(path);
        state.images.delete(path);
      }),
    append: (path, text) => write(path, `${state.texts.get(path) ?? ''}${text}`),
    writeDurably: write,
  };
}

const killedResult: ExecResult = {
  status: undefined,
  stdout: '',
  stderr: '',
  timedOut: true,
};

/** The result of a failing step in place of an error, or the details of its error. */
type FailureResult<T> = {
  readonly instead?: (killed: boolean) => T;
  readonly at?: { readonly syscall: string; readonly path: string };
};

function createFaults() {
  let fault: FakeFault | undefined;
  let taken = 0;
  let crashed = false;
  const fail = <T>({ instead, at }: FailureResult<T>, how: FakeFault['how']): T => {
    if (how === 'crash') {
      crashed = true;
      throw new Crash('the agent ended here');
    }
    if (instead) return instead(fault?.when === 'after');
    throw Object.assign(new Error('input/output error'), { code: 'EIO', ...at });
  };
  return {
    taken: () => taken,
    failAt(next: FakeFault | undefined) {
      fault = next;
      taken = 0;
      crashed = false;
    },
    async step<T>(work: () => T, failing: FailureResult<T> = {}): Promise<T> {
      if (crashed) throw new Crash('the agent has ended');
      taken++;
      if (fault?.step !== taken) return work();
      if (fault.when === 'after') work();
      return fail(failing, fault.how);
    },
  };
}

function kindOf(state: FakeState, path: string): PathKind {
  const kind = state.paths.get(path) ?? 'nothing';
  return kind === 'file' && state.texts.get(path) ? 'filled' : kind;
}

function make(state: FakeState, path: string, kind: 'file' | 'directory'): void {
  if (state.paths.get(dirname(path)) !== 'directory') throw systemError('ENOENT', path);
  if (!state.paths.has(path)) state.paths.set(path, kind);
}

function removeDirectory(state: FakeState, path: string): void {
  if (!state.paths.has(path)) return;
  if (list(state, path).length > 0) throw systemError('ENOTEMPTY', path);
  state.paths.delete(path);
}

function list(state: FakeState, path: string): readonly string[] {
  const [, held] = /^\/sys\/block\/loop(\d+)\/holders$/.exec(path) ?? [];
  if (held !== undefined)
    return [...state.mappings]
      .filter(([, { loop }]) => loop === Number(held))
      .map(([index]) => `dm-${index}`);
  return [...state.paths.keys()]
    .filter(name => name !== '/' && dirname(name) === path)
    .map(name => name.slice(path.length + 1));
}

function readText(state: FakeState, path: string): string | undefined {
  if (path === '/proc/partitions')
    return [...state.loops]
      .map(([index, { sizeBytes }]) => `   7 ${index} ${sizeBytes / 1024} loop${index}\n`)
      .join('');
  const match = /^\/sys\/(?:block\/loop|class\/block\/loop|dev\/block\/7:)(\d+)\/(.+)$/.exec(path);
  if (!match) return state.texts.get(path);
  const index = Number(match[1]);
  const loop = state.loops.get(index);
  if (!loop) return undefined;
  const facts: Readonly<Record<string, string>> = {
    'loop/backing_file': loop.backing,
    'loop/autoclear': loop.isLeaving ? '1' : '0',
    dev: `7:${index}`,
    diskseq: String(loop.diskseq),
    ro: loop.readonly ? '1' : '0',
    size: String(loop.sizeBytes / 512),
  };
  const fact = facts[match[2] ?? ''];
  return fact === undefined ? undefined : `${fact}\n`;
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
