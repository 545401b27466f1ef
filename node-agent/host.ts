import type { ExecResult } from '../src/lib/exec.ts';
import type { Mount } from '../src/lib/linux/mountinfo.ts';

/**
 * The only interface through which the agent touches the machine, so that tests can make any step fail. Only `run` may be
 * called on a path on a volume: if the volume hangs, just its command hangs. Failures throw an Error with the system's `code`,
 * such as ENOTEMPTY.
 */
export interface Host {
  /** Runs a command with a deadline, by default the machine's; never rejects (see `exec`). */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<ExecResult>;
  /** Lists the machine's current mounts, in the order of mounting. */
  mounts(): Promise<readonly Mount[]>;
  /** Reads a file; undefined if it does not exist. For /sys and the agent's own records only. */
  readText(path: string): Promise<string | undefined>;
  /** Says cheaply whether a path exists; follows symbolic links. For /sys and for programs only. */
  isThere(path: string): Promise<boolean>;
  /** Returns the kind of a path; does not follow a symbolic link. */
  kindOf(path: string): Promise<PathKind>;
  /** Resolves symbolic links in a path, which must exist. For the agent's own settings only. */
  realPath(path: string): Promise<string>;
  /** Lists the names in a directory; empty if the directory does not exist. */
  list(path: string): Promise<readonly string[]>;
  /** Creates one directory, mode 0750, unless it exists. The parent must exist. */
  createDirectory(path: string): Promise<void>;
  /** Creates one empty file, mode 0640, unless it exists. The parent must exist. */
  createFile(path: string): Promise<void>;
  /** Removes an empty directory; throws ENOTEMPTY for any other. If it is missing, nothing happens. */
  removeDirectory(path: string): Promise<void>;
  /** Removes a file. If it is missing, nothing happens. */
  removeFile(path: string): Promise<void>;
  /** Opens a path, which must exist and contain no symbolic link; see `OpenedPath`. */
  open(path: string): Promise<OpenedPath>;
  /** Appends to a file. A crash of the machine may undo the append, or part of it. For the agent's own records only. */
  append(path: string, text: string): Promise<void>;
  /** Replaces a file atomically and durably: after any crash it is the old one or the new one. For the agent's own records only. */
  writeDurably(path: string, text: string): Promise<void>;
}

export type RunOptions = {
  /** Replaces the machine's own deadline. */
  readonly timeoutMs?: number | undefined;
  /** The standard input. */
  readonly input?: string | undefined;
  /** Discards the standard output. */
  readonly mute?: boolean | undefined;
  /** Arguments at or directly below these paths reach the opened files, even if the paths have been replaced since. */
  readonly opened?: readonly OpenedPath[] | undefined;
  /** The command may outlive its kill; its volume does not count as hung then. */
  readonly mayWait?: boolean | undefined;
};

/** A command and its arguments; `timeoutMs` replaces the machine's deadline for a command. */
export type CommandLine = {
  readonly command: string;
  readonly args: readonly string[];
  readonly timeoutMs?: number;
  /** The standard input; empty if absent. */
  readonly input?: string;
  /** See `RunOptions`. */
  readonly mute?: boolean;
  readonly opened?: readonly OpenedPath[];
};

/** An opened path. It keeps reaching the same file even if the path is replaced, and below any later mount on it. */
export interface OpenedPath extends Disposable {
  readonly path: string;
  readonly descriptor: number;
  /** The agent's own path to it; names below it can be appended. */
  readonly at: string;
  /** True while the path still leads to it. */
  isInPlace(): boolean;
}

/** The kind of a path; `file` is an empty file, such as a mountpoint of a block volume, and `filled` a file with data. */
export type PathKind = 'nothing' | 'directory' | 'file' | 'filled' | 'link' | 'other';
