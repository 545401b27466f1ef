import type { Device } from './connector.ts';
import type { CommandLine } from './host.ts';
import type { FilesystemName, FormatOptions } from '../src/api/filesystems.ts';

export type { CommandLine } from './host.ts';

export type SizedDevice = Pick<Device, 'path' | 'sizeBytes'>;

/** The description of one filesystem; it executes nothing. Command lines are argument lists without any force flag. */
export interface Filesystem {
  /** The name in mountinfo, in blkid's answers, and in a StorageClass's `csi.storage.k8s.io/fstype`. */
  readonly name: FilesystemName;
  /** Makes mkfs print its supported features, with any exit status; absent if all versions support all arguments of `make`. */
  readonly features?: CommandLine;
  /**
   * Makes an empty filesystem on a device that was proved blank, with checked options and only with features that the oldest
   * supported kernel knows. `known` is the output of `features`.
   */
  make(device: SizedDevice, options?: FormatOptions, known?: string): CommandLine;
  /** The options of every mount; the caller's follow them. */
  readonly mountOptions: readonly string[];
  readonly journal: JournalTools;
  /** Detects a freeze; absent if only a blocked write shows it. */
  readonly freezing?: FreezeTools;
  /** Grows the mounted filesystem to the size of its device. Safe to run again. */
  growMounted(mounted: { readonly device: string; readonly path: string }): CommandLine;
  /** Minimum size in bytes that the kernel accepts for growing the mounted filesystem; absent if it accepts any size. */
  readonly minGrownBytes?: number;
  /** The capability that the kernel requires to grow the mounted filesystem. */
  readonly growCapability?: 'CAP_SYS_RESOURCE';
  /** Tools to inspect, repair and grow the unmounted filesystem; absent if mounting does all of that. */
  readonly unmounted?: UnmountedTools;
  /** Detects damage that neither mounting nor the agent repairs. */
  readonly damage?: {
    /** Reads the whole filesystem and writes nothing; exits with status 0 if it is sound. */
    look(device: string): CommandLine;
    /** Matches the output of `look` if it cannot tell damage from a state that the next mount corrects. */
    readonly undecided?: RegExp;
    /** The repair tools for a person, as named in the error. */
    readonly repair: string;
  };
  /** The directory that exists while a filesystem of that UUID is mounted; absent if two with one UUID can be mounted. */
  twinDirectory?(uuid: string): string;
}

export interface UnmountedTools {
  /** Prints the input of `readInspection`. */
  inspect(device: string): CommandLine;
  /** Returns undefined for unknown output. */
  readInspection(output: string): Inspection | undefined;
  /** Repairs all damage that needs no decision. Status bits: 1 and 2 repaired, 4 still damaged, others did not run. */
  mend(device: string): CommandLine;
  /** Checks the whole filesystem and repairs it as `mend` does; required before it grows. */
  check(device: string): CommandLine;
  /** Lists the commands that grow a filesystem that ends at `endBytes` to its device, in order. Safe to run again. */
  grow(device: SizedDevice, endBytes: number): readonly CommandLine[];
}

/**
 * Tools that tell whether the journal must be replayed before the filesystem shows all durable data. The kernel replays it at
 * each mount of a writable device, and refuses to mount a read-only device that needs it.
 */
interface JournalTools {
  /** Prints the input of `needsReplay`; only reads the device. */
  inspect(device: string): CommandLine;
  /** Returns undefined for output that does not mention the journal. */
  needsReplay(output: string): boolean | undefined;
}

/** Tools that tell whether a filesystem mounted for writing is frozen, without a change and without blocking. */
interface FreezeTools {
  /** Prints the input of `isFrozen`. */
  inspect(mounted: { readonly device: string; readonly path: string }): CommandLine;
  /** Returns undefined for output that leaves it open. */
  isFrozen(output: string): boolean | undefined;
}

export type Inspection = {
  /** The filesystem's end on its device. */
  readonly endBytes: number;
  /** Maximum space behind the end that the filesystem may be unable to use. */
  readonly slackBytes: number;
  /** The kernel found an error in the filesystem and asks for a check. */
  readonly hasErrors: boolean;
};

/** Translates the given format options into arguments of mkfs. */
export function mkfsArgs(
  options: FormatOptions,
  known: Readonly<Record<string, (value: string) => readonly string[]>>,
): readonly string[] {
  return Object.entries(options).flatMap(([option, value]) => known[option]?.(value) ?? []);
}
