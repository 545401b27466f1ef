import type { ExecResult } from '../src/lib/exec.ts';
import type { Mount } from '../src/lib/linux/mountinfo.ts';

/**
 * The only way in which the agent touches the machine, so that tests can fail it at any step. Nothing here may be
 * called on a path that lies on a volume, but `run`, whose command hangs alone when the volume does. What fails
 * throws an Error whose `code` is the system's, such as ENOTEMPTY.
 */
export interface Host {
  /** Runs a command with a deadline, by default the machine's; resolves always (see `exec`). */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<ExecResult>;
  /** What is mounted on this machine now, in the order of mounting. */
  mounts(): Promise<readonly Mount[]>;
  /** A file's text, or undefined when there is none. For /sys and the agent's own records only. */
  readText(path: string): Promise<string | undefined>;
  /** True when something lies at a path, behind symbolic links; at little cost. For /sys and for programs only. */
  isThere(path: string): Promise<boolean>;
  /** What lies at a path, a symbolic link itself and not what it points at. */
  kindOf(path: string): Promise<PathKind>;
  /** The path without symbolic links; it must exist. For the agent's own settings only. */
  realPath(path: string): Promise<string>;
  /** The names in a directory; empty when it is not there. */
  list(path: string): Promise<readonly string[]>;
  /** Makes one directory, mode 0750; one that is there is fine. The parent must exist. */
  makeDirectory(path: string): Promise<void>;
  /** Makes one empty file, mode 0640; one that is there is fine. The parent must exist. */
  makeFile(path: string): Promise<void>;
  /** Removes an empty directory; one that is not there is fine, one that is not empty is an error (ENOTEMPTY). */
  removeDirectory(path: string): Promise<void>;
  /** Removes a file; one that is not there is fine. */
  removeFile(path: string): Promise<void>;
  /** Opens what lies at a path, which must exist and hold no symbolic link; see `Opened`. */
  open(path: string): Promise<Opened>;
  /** Adds to a file, which a crash of the machine may undo in part or as a whole. For the agent's own records only. */
  append(path: string, text: string): Promise<void>;
  /** Replaces a file as a whole, durable on return: after any crash it is the old one or the new one. For the agent's own records only. */
  writeDurably(path: string, text: string): Promise<void>;
}

/**
 * `timeoutMs` bounds the command in place of the machine's own deadline; `input` is its standard input. Nobody reads the standard
 * output of a `mute` one. An argument at a path that is `opened`, or in a directory that is, reaches that and nothing that
 * took its path since.
 */
export type RunOptions = {
  readonly timeoutMs?: number | undefined;
  readonly input?: string | undefined;
  readonly mute?: boolean | undefined;
  readonly opened?: readonly Opened[] | undefined;
};

/** What lay at a path when it was opened, whatever becomes of the path: without what is mounted on it from then on. */
export interface Opened extends Disposable {
  readonly path: string;
  readonly descriptor: number;
  /** The path by which the agent itself reaches it; with a name added, what lies in it. */
  readonly at: string;
  /** True while it still lies at its path. */
  isInPlace(): boolean;
}

/** What lies at a path; `file` is an empty one, as block volumes are bound to, `filled` one that holds data. */
export type PathKind = 'nothing' | 'directory' | 'file' | 'filled' | 'link' | 'other';
