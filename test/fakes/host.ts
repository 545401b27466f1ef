import { dirname } from 'node:path';
import type { Host } from '../../node-agent/host.ts';
import { isAtOrBelow } from '../../src/lib/linux/mountinfo.ts';
import type { ExecResult } from '../../src/lib/exec.ts';
import { addDirectory, emptyState, type FakeState } from './state.ts';
import { runFakeTool } from './tools.ts';

/** Which step fails, whether its effect happened, and how: by an error, by a command killed, or by the agent's end. */
export type FakeFault = {
  readonly step: number;
  readonly when: 'before' | 'after';
  readonly how: 'error' | 'crash';
};

/** The machine, what it holds, and how many steps were taken on it. */
export interface FakeHost extends Host {
  readonly state: FakeState;
  readonly steps: number;
  /** Lets one step fail, counted from now; undefined lets none. */
  failAt(fault: FakeFault | undefined): void;
}

/** Thrown by every step from a crash on, until the fault is taken away. */
export class Crash extends Error {}

/**
 * A machine with the directories given and nothing mounted. Whoever asks it for anything but a command at or below what is
 * mounted gets an error: on a real one that would wait with the volume.
 */
export function createFakeHost(directories: readonly string[] = []): FakeHost {
  const state = emptyState();
  for (const directory of directories) addDirectory(state, directory);
  const faults = createFaults();
  const step = faults.step;
  /** A call on a path, which may hang once a volume is mounted there: it is wrong whatever comes of it. */
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
    kindOf: path => at('lstat', path, () => state.paths.get(path) ?? 'nothing'),
    realPath: path => at('realpath', path, () => path),
    list: path => at('scandir', path, () => list(state, path)),
    makeDirectory: path => at('mkdir', path, () => make(state, path, 'directory')),
    makeFile: path => at('open', path, () => make(state, path, 'file')),
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

/** What a step that fails gives instead, or what its error says of it. */
type Failing<T> = {
  readonly instead?: (killed: boolean) => T;
  readonly at?: { readonly syscall: string; readonly path: string };
};

function createFaults() {
  let fault: FakeFault | undefined;
  let taken = 0;
  let crashed = false;
  const fail = <T>({ instead, at }: Failing<T>, how: FakeFault['how']): T => {
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
    async step<T>(work: () => T, failing: Failing<T> = {}): Promise<T> {
      if (crashed) throw new Crash('the agent has ended');
      taken++;
      if (fault?.step !== taken) return work();
      if (fault.when === 'after') work();
      return fail(failing, fault.how);
    },
  };
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
