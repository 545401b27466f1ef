import { dirname } from 'node:path';
import type { PathKind } from '../../node-agent/host.ts';
import type { ExecResult } from '../../src/lib/exec.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';

/** A backing file: its size, and what a reader of it finds. */
export type FakeImage = {
  sizeBytes: number;
  /** A filesystem's or another format's name; `half` is what an mkfs left that was killed; `garbage` nobody knows. */
  content: string;
  /** Set by whoever writes data through a mount, so that a lost filesystem shows. */
  data?: string;
  /** blkid sees the filesystem, but it does not mount. */
  unfinished?: boolean;
  /** How much of the image its filesystem takes; absent: all of it. */
  filesystemBytes?: number;
  /** `errors` asks for a check, `broken` does not mount before one, `lost` is beyond one. */
  damage?: 'errors' | 'broken' | 'lost';
  /** What unlocks one with `crypto_LUKS` as its content, and what it holds: `noise` at first. */
  keys?: Set<string>;
  inside?: FakeImage;
};

/** A loop device that is set up. */
export type FakeLoop = {
  readonly backing: string;
  readonly readonly: boolean;
  readonly diskseq: number;
  sizeBytes: number;
  /** It was detached while it was in use, and goes with its last user. */
  isLeaving?: boolean;
};

/** A mapping that decrypts a loop device. */
export type FakeMapping = {
  readonly name: string;
  readonly loop: number;
  readonly isReadonly: boolean;
  readonly diskseq: number;
};

/** What a command does, given its arguments and its standard input; a number is its exit status. */
export type ExtraTool = (args: readonly string[], input: string) => Partial<ExecResult> | number;

/** A machine held in memory that behaves as the real tools do. */
export type FakeState = ReturnType<typeof emptyState>;

/** A machine with nothing on it. */
export function emptyState() {
  return {
    paths: new Map<string, PathKind>([['/', 'directory']]),
    texts: new Map<string, string>(),
    images: new Map<string, FakeImage>(),
    loops: new Map<number, FakeLoop>(),
    mappings: new Map<number, FakeMapping>(),
    /** Counts the loop devices and mappings that were ever set up. */
    diskseq: 0,
    /** What NFS servers export, as `server:/path`. */
    exports: new Set<string>(),
    mounts: [] as Mount[],
    /** Every mkfs that ran, and what it found on its device. */
    formatted: [] as string[],
    /** Commands beside the usual ones, or in their stead. */
    extra: new Map<string, ExtraTool>(),
    /** Commands that answer as if they were not installed. */
    missing: new Set<string>(),
    /** Whether blkid says where a filesystem ends, as util-linux does since 2.39. */
    tellsEnd: false,
  };
}

/** Makes a directory with all its parents. */
export function addDirectory(state: FakeState, path: string): void {
  if (state.paths.has(path)) return;
  addDirectory(state, dirname(path));
  state.paths.set(path, 'directory');
}
