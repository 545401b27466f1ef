import { dirname } from 'node:path';
import type { PathKind } from '../../node-agent/host.ts';
import type { ExecResult } from '../../src/lib/exec.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';

/** A backing file: its size, and the content that a reader finds. */
export type FakeImage = {
  sizeBytes: number;
  /**
   * A filesystem's or another format's name; `half` stands for the remains of a killed mkfs, `garbage` for an unknown
   * format.
   */
  content: string;
  /** The data written through a mount, so that a lost filesystem shows. */
  data?: string;
  /** True if blkid sees the filesystem but it does not mount. */
  unfinished?: boolean;
  /** The size of its filesystem; absent: the size of the image. */
  filesystemBytes?: number;
  /** `errors` needs a check, `broken` does not mount before one, `lost` cannot be repaired. */
  damage?: 'errors' | 'broken' | 'lost';
  /** True if the journal holds data: the filesystem mounts only from a writable device, which replays the journal. */
  needsReplay?: boolean;
  /** The keys that unlock an image with the content `crypto_LUKS`, and its decrypted image: `noise` at first. */
  keys?: Set<string>;
  inside?: FakeImage;
};

/** A loop device that is set up. */
type FakeLoop = {
  readonly backing: string;
  readonly readonly: boolean;
  readonly diskseq: number;
  sizeBytes: number;
  /** True if it was detached while in use, and goes with its last user. */
  isLeaving?: boolean;
};

/** A mapping that decrypts a loop device. */
export type FakeMapping = {
  readonly name: string;
  readonly loop: number;
  readonly isReadonly: boolean;
  readonly diskseq: number;
};

/** A command given its arguments and its standard input; a number is its exit status. */
export type ExtraTool = (args: readonly string[], input: string) => Partial<ExecResult> | number;

/** The state of a machine in memory that behaves as the real tools do. */
export type FakeState = ReturnType<typeof emptyState>;

let machineCount = 0;

/** Makes a machine with nothing on it. */
export function emptyState() {
  return {
    paths: new Map<string, PathKind>([['/', 'directory']]),
    texts: new Map<string, string>(),
    images: new Map<string, FakeImage>(),
    loops: new Map<number, FakeLoop>(),
    mappings: new Map<number, FakeMapping>(),
    /** The sequence number of the last loop device or mapping; no two machines share one. */
    diskseq: ++machineCount * 1_000_000,
    /** The exports of NFS servers, as `server:/path`. */
    exports: new Set<string>(),
    mounts: [] as Mount[],
    /** The content that each mkfs found on its device, in order. */
    formatted: [] as string[],
    /** Commands in addition to the usual ones, or in their place. */
    extra: new Map<string, ExtraTool>(),
    /** Commands that behave as if they were not installed. */
    missing: new Set<string>(),
    /** The devices that were cut off from their file. */
    cutOff: [] as string[],
    /** True if blkid reports the end of a filesystem, as util-linux does since 2.39. */
    tellsEnd: false,
  };
}

export function addDirectory(state: FakeState, path: string): void {
  if (state.paths.has(path)) return;
  addDirectory(state, dirname(path));
  state.paths.set(path, 'directory');
}
