import type { Opened } from './host.ts';
import type { FilesystemName, FormatOptions } from '../src/api/filesystems.ts';

/** One filesystem, described and not executed. Command lines are argument lists, and none holds a force flag. */
export interface Filesystem {
  /** The name in mountinfo, in blkid's answers, and in a StorageClass's `csi.storage.k8s.io/fstype`. */
  readonly name: FilesystemName;
  /** Has its mkfs print which features it knows, with any status; absent where every version takes all of `make`. */
  readonly features?: CommandLine;
  /**
   * Makes an empty filesystem on a device that was proved blank, with options that were checked for it, and with no
   * feature that the oldest supported kernel does not know. `known` is what `features` printed.
   */
  make(device: string, options?: FormatOptions, known?: string): CommandLine;
  /** Least size in bytes that it can be made on. */
  readonly minimumBytes: number;
  /** Options for every mount, before the caller's. */
  readonly mountOptions: readonly string[];
  /** More options for a read-only device, so that not even a journal is written. */
  readonly readonlyOptions: readonly string[];
  /** Mount flags beside those that every filesystem knows: a name, and its value's pattern; `''` is no value. */
  readonly allowedFlags: Readonly<Record<string, RegExp>>;
  /** Grows it to the size of its device while it is mounted; run again it changes nothing. */
  growMounted(mounted: { readonly device: string; readonly path: string }): CommandLine;
  /** The kernel refuses to grow it to less than this while it is mounted, in bytes; absent where it grows to any size. */
  readonly leastGrownBytes?: number;
  /** The capability without which the kernel refuses to grow it while it is mounted. */
  readonly growCapability?: 'CAP_SYS_RESOURCE';
  /** How it is looked at, mended and grown while it is not mounted; absent where mounting does all of that. */
  readonly unmounted?: UnmountedTools;
  /** How damage is found that mounting does not mend, and that is not the agent's to mend. */
  readonly damage?: {
    /** Reads all of the filesystem and writes nothing; ends with status 0 when it is sound. */
    look(device: string): CommandLine;
    /** What `look` prints when it cannot tell damage from what the next mount puts right. */
    readonly undecided?: RegExp;
    /** What a person may repair it with. */
    readonly repair: string;
  };
  /** A directory that is there while a filesystem of that UUID is mounted, where one hinders another. */
  twinDirectory?(uuid: string): string;
}

/** The tools of a filesystem that is not mounted. */
export interface UnmountedTools {
  /** Prints what `readInspection` reads. */
  inspect(device: string): CommandLine;
  /** Undefined for what it does not understand. */
  readInspection(output: string): Inspection | undefined;
  /** Mends what needs no decision. Status bits: 1 and 2 mended, 4 left damaged, others did not run. */
  mend(device: string): CommandLine;
  /** Checks all of it, mends as `mend` does, and grows it to its device; in order. Run again they change nothing. */
  check(device: string): CommandLine;
  grow(device: string): CommandLine;
}

/** What is known of a filesystem that is not mounted. */
export type Inspection = {
  /** Where it ends on its device. */
  readonly endBytes: number;
  /** Space behind its end, in bytes, that it may be unable to use. */
  readonly slackBytes: number;
  /** The kernel found an error in it and asks for a check. */
  readonly hasErrors: boolean;
};

/** A command and its arguments; `timeoutMs` where the machine's deadline for a command does not fit it. */
export type CommandLine = {
  readonly command: string;
  readonly args: readonly string[];
  readonly timeoutMs?: number;
  /** Its standard input; empty where there is none. */
  readonly input?: string;
  /** See `RunOptions`. */
  readonly mute?: boolean;
  readonly opened?: readonly Opened[];
};

/** Mount flags that take no value. */
export function plainFlags(...names: readonly string[]): Readonly<Record<string, RegExp>> {
  return Object.fromEntries(names.map(name => [name, /^$/]));
}

/** The arguments for the format options that are given, by what each option is for mkfs. */
export function mkfsArgs(
  options: FormatOptions,
  known: Readonly<Record<string, (value: string) => readonly string[]>>,
): readonly string[] {
  return Object.entries(options).flatMap(([option, value]) => known[option]?.(value) ?? []);
}
