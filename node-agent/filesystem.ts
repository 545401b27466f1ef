/**
 * One filesystem, described and not executed: the agent runs what is described here. Command lines are argument
 * lists, and none holds a force flag.
 */
export interface Filesystem {
  /** The name in mountinfo, in blkid's answers, and in a StorageClass's `csi.storage.k8s.io/fstype`. */
  readonly name: string;
  /** Makes an empty filesystem on a device that was proved blank. */
  make(device: string): CommandLine;
  /** Least size in bytes that it can be made on. */
  readonly minimumBytes: number;
  /** Options for every mount, before the caller's. */
  readonly mountOptions: readonly string[];
  /** More options for a read-only device, so that not even a journal is written. */
  readonly readonlyOptions: readonly string[];
  /**
   * Mount flags that a caller may give beside those that every filesystem knows: a name and the pattern of its
   * value, which is `''` where the flag has none.
   */
  readonly allowedFlags: Readonly<Record<string, RegExp>>;
}

/** A command and its arguments. */
export type CommandLine = { readonly command: string; readonly args: readonly string[] };
