import type { z } from 'zod';
import type { Protocol, Reach } from '../src/api/attachment.ts';
import { clusterOf } from '../src/api/ids.ts';
import type { IoLimits } from '../src/api/attachments/io-limits.ts';
import type { AccessMode, AccessType, Capability, Capacity, CapacitySpec } from '../src/api/storage.ts';
import type { Segments } from '../src/api/topology.ts';
import type { ExistingVolume, Health } from '../src/api/volume.ts';
import type { Log } from '../src/lib/log.ts';

export { Problem, type ProblemCode } from '../src/api/problem.ts';

/**
 * The contract of a storage system that the gateway drives. Each method gets a resource whose id is already
 * chosen and recorded. It must end in the same state however often it runs, and is never run twice at a time
 * for one volume. A backend keeps no records. An absent member is not offered. Errors are a `Problem`; any
 * other error counts as "may still be running" and is tried again.
 */
export interface Backend {
  readonly name: string;
  readonly accessModes: readonly AccessMode[];
  /**
   * Offers `mount` only for shares and for volumes that read as zeros when they are new, because nodes make a
   * filesystem there.
   */
  readonly accessTypes: readonly AccessType[];
  /** The volumes are directories with their own filesystem, which nodes do not make. */
  readonly areShares?: true;
  /**
   * The parameters of a StorageClass without options of a filesystem (`fs.…`). Strict: it refuses an unknown
   * one by name.
   */
  readonly parameters: z.ZodType<Readonly<Record<string, string>>>;
  /**
   * The topologies that volumes can be in, the best one without a request first. Absent: everything can be
   * reached from everywhere. A storage with topologies copies a volume or snapshot only within its topology.
   */
  readonly topologies?: readonly Segments[];
  /** The gateway chooses one of these sizes and requests it as `requiredBytes`. Absent: the backend chooses. */
  readonly sizes?: VolumeSizes;
  /**
   * Creates the volume and returns once it is durable. An existing volume with this id, complete or not, is
   * completed if it has this nonce. A volume with another nonce belongs to another record: it stays as it is,
   * and the answer is ALREADY_EXISTS. OUT_OF_RANGE: the storage cannot create a volume of this size.
   * RESOURCE_EXHAUSTED: it has no space for it now. After a failure, nothing is removed here, because another
   * gateway may have completed it meanwhile; a `delete` follows.
   */
  create(volume: NewVolume): Promise<CreatedVolume>;
  /**
   * Takes over a volume that the storage had before, and does not change it. FAILED_PRECONDITION if another volume has
   * it already. Absent: operators import volumes from `list`.
   */
  take?(volume: TakenVolume): Promise<Pick<CreatedVolume, 'sizeBytes'>>;
  /**
   * Deletes the volume and the rest of an unfinished create. If it is missing, nothing happens; a volume with
   * another nonce stays. FAILED_PRECONDITION, with nothing changed, when the storage sees that a node uses
   * it.
   */
  delete(volume: VolumeRef): Promise<void>;
  /**
   * Bounds of the answers of `attach`, if the pool's settings give them. Absent: the operator's
   * `attachments`, or only network protocols. An attachment outside the bounds is UNAVAILABLE.
   */
  readonly attachmentBounds?: AttachmentBounds;
  /**
   * The host of the storage's API. If neither the backend nor the operator bounds the addresses, attachments
   * may name loopback, unspecified and link-local addresses only if this host has one.
   */
  readonly storageHost?: string;
  /** `attach` needs the node's addresses, its name or its provider's id. */
  readonly needsNodeDetails?: true;
  /** Returns true while the backend sends nothing, because its storage did not answer several times in a row. */
  readonly isPaused?: () => boolean;
  /** Lets the node reach the volume, and returns once it can. */
  attach(volume: KnownVolume, access: NodeAccess): Promise<Reach>;
  /**
   * Returns once the cluster's node can no longer read or write, except with `cannotCutOff`. If the volume is not
   * attached, nothing happens.
   */
  detach(volume: VolumeRef, nodeId: string, cluster?: string): Promise<void>;
  /**
   * A detach does not stop a node that still has the volume mounted. Operators then detach only by force, and learn
   * that the node may still write.
   */
  readonly cannotCutOff?: true;
  /**
   * Called once after the pool is opened, before any other call. It makes all recorded attachments reachable
   * again, for example after a reboot of the storage's machine, and closes all others. A fault of one volume
   * must not keep nodes from other volumes.
   */
  restore?(attached: AsyncIterable<AttachedVolume>): Promise<void>;
  /**
   * Tells a storage that must know its nodes that a node has left its cluster, with no volume attached. If
   * the node is unknown, nothing happens.
   */
  forgetNode?(node: { readonly cluster: string; readonly nodeId: string }): Promise<void>;
  /**
   * The form of the names in `list`, such as `a file CLUSTER.NAME.img in "/srv"`. An import that finds no
   * volume shows it.
   */
  readonly listedAs?: string;
  /** The kinds of sources that a new volume can be copied from. Absent: volumes always start empty. */
  readonly sources?: readonly VolumeSource['kind'][];
  /**
   * Expands the volume to a size within the bounds, attached or not. A volume that is large enough stays as
   * it is, and its size is the answer. OUT_OF_RANGE and RESOURCE_EXHAUSTED as for `create`, with nothing
   * changed.
   */
  expand?(volume: KnownVolume, bounds: SizeBounds): Promise<ExpandedVolume>;
  readonly modification?: Modification;
  readonly snapshots?: Snapshots;
  readonly changes?: Changes;
  /** Returns the present faults of the volume, at most one for each status and reason. */
  volumeHealth?(volume: KnownVolume): Promise<readonly HealthEntry[]>;
  /** Returns the total size of the storage, reserved or not, in one of the `topologies` if there are any. */
  capacity?(segments?: Segments): Promise<{ readonly totalBytes: number }>;
  /**
   * Returns the space for new volumes of a kind. It replaces `capacity` for a storage that counts its own
   * space and decides alone whether a volume fits.
   */
  available?(kind: CapacitySpec): Promise<Capacity>;
  /** Resolves once the storage has answered a question without effect. For a storage without `capacity`. */
  reach?(): Promise<void>;
  /**
   * Lists the ids of all volumes. A volume that the gateway does not know is an orphan. Ends with an error
   * once the signal is aborted.
   */
  list?(signal?: AbortSignal): AsyncIterable<string>;
  /** Marks the owner in the storage itself. Absent: only the content shows the owner. */
  readonly owner?: OwnerMark;
  close?(): Promise<void>;
}

/** Bounds of a pool's attachments. A gateway refuses answers of a storage outside them. */
export type AttachmentBounds = {
  readonly protocols: readonly Protocol[];
  /** Hosts and networks, each with or without a port. Absent: all except other pools' and the node itself. */
  readonly addresses?: readonly string[] | undefined;
  /** Directories above the paths, on the node (`loop`, `bind`) or the server. Absent: all except other pools'. */
  readonly roots?: readonly string[] | undefined;
  /** The CSI drivers whose volumes they are (`csi`). */
  readonly drivers?: readonly string[] | undefined;
  /** First characters of the `wwid` or the `serial` of disks (`device`). Absent: all. */
  readonly serials?: readonly string[] | undefined;
};

/** One line of text, kept durably beside the volumes. */
export interface OwnerMark {
  /** Undefined if none was ever written. */
  read(): Promise<string | undefined>;
  write(mark: string): Promise<void>;
}

/** The possible sizes of volumes, in bytes: a whole number of steps from the minimum to the maximum. */
export type VolumeSizes = {
  readonly minimumBytes: number;
  readonly stepBytes: number;
  /** The size without a request, reduced to the requested limit. */
  readonly defaultBytes: number;
  /** Absent: up to the size of the pool. */
  readonly maximumBytes?: number;
};

/** Changes a volume's mutable parameters (the parameters of a VolumeAttributesClass). */
export interface Modification {
  /** Strict, as `Backend.parameters`. */
  readonly parameters: z.ZodType<Readonly<Record<string, string>>>;
  /** Applies these parameters and keeps the others. INVALID_ARGUMENT only if nothing was changed. */
  apply(volume: KnownVolume, parameters: Readonly<Record<string, string>>): Promise<void>;
}

/** Copies of volumes at one point in time. */
export interface Snapshots {
  /** The parameters of a VolumeSnapshotClass; strict. */
  readonly parameters: z.ZodType<Readonly<Record<string, string>>>;
  /**
   * Returns once the snapshot is taken: later writes to the volume are not in it. `ready` is false while it
   * cannot be used yet; a repeated call tells its state. FAILED_PRECONDITION, with the reason, when the
   * snapshot would not be of one point in time, for example because the volume is being written.
   */
  create(snapshot: NewSnapshot): Promise<CreatedSnapshot>;
  /**
   * Returns the bytes that a snapshot of the volume would take of the pool now, to reserve them first.
   * Absent: the volume's size.
   */
  measure?(volume: KnownVolume): Promise<number>;
  /**
   * Deletes the snapshot and the rest of an unfinished create. If it is missing, nothing happens; one with
   * another nonce stays.
   */
  delete(snapshot: SnapshotRef): Promise<void>;
  /** Takes all members at one point in time, or none and gives the reason. Absent: groups are not offered. */
  createGroup?(members: readonly NewSnapshot[]): Promise<readonly CreatedSnapshot[]>;
  /** Lists the ids of all snapshots, as `Backend.list` does. */
  list?(signal?: AbortSignal): AsyncIterable<string>;
}

/** Finds the blocks of a snapshot that hold data, and the blocks that differ between two snapshots of one volume. */
export interface Changes {
  /**
   * Yields extents with all allocated blocks, from the first that ends after `fromOffset`, in order and without overlap.
   * Blocks without data may be among them.
   */
  allocated(snapshot: KnownSnapshot, fromOffset: number): AsyncIterable<Extent>;
  /** Yields the extents that may differ, likewise. The base with these bytes of the target equals the target. */
  changed(
    pair: { readonly base: KnownSnapshot; readonly target: KnownSnapshot },
    fromOffset: number,
  ): AsyncIterable<Extent>;
}

/** A range of bytes. */
export type Extent = { readonly offset: number; readonly length: number };

/** At least `requiredBytes` and at most `limitBytes`; 0 is no bound. */
export type SizeBounds = { readonly requiredBytes: number; readonly limitBytes: number };

/** The present size of the volume, and whether the node must grow the filesystem. */
export type ExpandedVolume = { readonly sizeBytes: number; readonly nodeExpansionRequired: boolean };

/**
 * Identifies a snapshot as `VolumeRef` does a volume. A member of a group has the group's nonce and its
 * position, from 0.
 */
export type SnapshotRef = VolumeRef & { readonly group?: { readonly id: string; readonly member: number } };

/** Returns the id of a member of a group. */
export function memberIdOf(groupId: string, nonce: string, member: number): string {
  return `${clusterOf(groupId)}.member-${nonce}-${member}`;
}

/** A snapshot that was taken. It is in its volume's topology; without one it can be reached from everywhere. */
export type KnownSnapshot = SnapshotRef & {
  readonly volumeId: string;
  readonly sizeBytes: number;
  readonly segments?: Segments;
};

export type NewSnapshot = SnapshotRef & {
  /** As a volume's nonce: a snapshot with another nonce belongs to another record. */
  readonly nonce: string;
  readonly volume: KnownVolume;
  /** A node may be writing to the volume. */
  readonly attachedForWriting: boolean;
  readonly parameters: Readonly<Record<string, string>>;
};

/** The size of the volume at the time of the snapshot, and that time, in milliseconds since the epoch. */
export type CreatedSnapshot = {
  /** The bytes that the snapshot takes of the pool; absent: its size. */
  readonly reservedBytes?: number;
  readonly sizeBytes: number;
  readonly createdAtMs: number;
  readonly ready: boolean;
};

/** The source of a new volume, which must be at least as large. */
export type VolumeSource =
  | { readonly kind: 'snapshot'; readonly snapshot: KnownSnapshot }
  | { readonly kind: 'volume'; readonly volume: KnownVolume; readonly attachedForWriting: boolean };

/** A fault of a volume (CSI spec, "VolumeHealth"). Its reason is one CamelCase word for machines. */
export type HealthEntry = Health['entries'][number];

/**
 * Identifies a volume or a snapshot. The nonce is unique to one record of the gateway. For every method, data
 * with another nonce are not this volume, so that a late call for a deleted record changes nothing. Absent or
 * empty: any data with the id.
 */
export type VolumeRef = { readonly id: string; readonly nonce?: string };

/** The request for a new volume. */
export type NewVolume = VolumeRef &
  SizeBounds & {
    readonly nonce: string;
    readonly parameters: Readonly<Record<string, string>>;
    /** Only of a kind in `sources`. */
    readonly source?: VolumeSource;
    /** Only if the backend has `modification`. */
    readonly mutableParameters?: Readonly<Record<string, string>>;
    readonly capabilities: readonly Capability[];
    /**
     * The backend's `topologies` that the volume may be in, best first, at least one. Absent if the backend
     * has none.
     */
    readonly topologies?: readonly Segments[];
  };

/** A volume to take over, with its size and its topology. */
export type TakenVolume = VolumeRef & {
  readonly nonce: string;
  readonly existing: ExistingVolume;
  readonly sizeBytes: number;
  readonly capabilities: readonly Capability[];
  readonly segments?: Segments;
};

export type CreatedVolume = {
  readonly sizeBytes: number;
  /** The volume's topology; it may be left out if only one is possible. */
  readonly segments?: Segments;
  /** Values that nodes get at every mount; not secret. */
  readonly context?: Readonly<Record<string, string>>;
};

/** An existing volume. */
export type KnownVolume = VolumeRef & {
  readonly sizeBytes: number;
  readonly parameters: Readonly<Record<string, string>>;
  /** The volume's topology; absent: it can be reached from everywhere. */
  readonly segments?: Segments;
};

/** The node that uses a volume, and its rights. */
export type NodeAccess = {
  readonly nodeId: string;
  /** The node's cluster. Nodes of two clusters may have the same id, and both may have a shared volume. */
  readonly cluster?: string;
  readonly attachmentId: string;
  readonly capability: Capability;
  readonly readonly: boolean;
  /**
   * No other node has the volume, so this reader may replay the journal of its filesystem. If the path of the
   * attachment accepts the node's writes, the backend also answers with `mayReplay`; if it is read-only, the
   * backend does not.
   */
  readonly mayReplay?: true | undefined;
  /** The maximum of the node's reads and writes. A storage that enforces it answers with `limitsIo`. */
  readonly limits?: IoLimits;
  /** The node's topology, addresses, name and cloud's id as its cluster reports them. */
  readonly topology?: Segments;
  readonly addresses?: readonly string[];
  readonly name?: string;
  readonly providerId?: string;
};

/** An attachment in effect or in progress. `reach` is absent until it is decided. */
export type AttachedVolume = {
  readonly volume: KnownVolume;
  readonly access: NodeAccess;
  readonly reach?: Reach | undefined;
};

/** Proves the gateway's identity to others. */
export interface Identity {
  /** The gateway's constant name. */
  readonly name: string;
  /** Returns a bearer token for the audience. `renew` requests a new one because the last was refused. */
  token(audience: string, renew: boolean): Promise<string>;
}

/** The facts of a caller's request that a call of a storage passes on. */
export type ServedRequest = {
  /** The name of the request in the logs of both sides. */
  readonly requestId: string;
  /** The caller's deadline, in milliseconds since the epoch, if it gave one. */
  readonly deadlineMs?: number | undefined;
  /** The trace that the request is part of, for calls to other services. */
  readonly traceparent?: string | undefined;
};

/** The context for opening a pool. */
export type PoolContext = {
  readonly name: string;
  readonly log: Log;
  /** The directory of the configuration file. Paths in settings are relative to it; absent: the working directory. */
  readonly directory?: string;
  readonly identity?: Identity;
  /**
   * Returns the request that the present call serves; undefined for work that the gateway does by itself,
   * such as recovery.
   */
  readonly currentRequest?: () => ServedRequest | undefined;
  /** Throws when the caller of that request no longer waits. Call it between the steps of a long call that only reads. */
  readonly requireCaller?: () => void;
};

/** The entry of a backend in the registry. */
export interface BackendPlugin<Settings extends z.ZodType = z.ZodType> {
  /** The settings of a pool's entry beside `backend`, `topology` and `concurrency`; strict. */
  readonly settings: Settings;
  /** Returns the address of the storage for operators, without secrets: a URL, a directory, or another identification. */
  addressOf?(settings: z.output<Settings>): string;
  /** Returns the maximum number of calls at a time, if the settings limit it. */
  maxConcurrency?(settings: z.output<Settings>): number;
  /**
   * Lists the machine's missing prerequisites for such a pool, one line each. It changes nothing, and an open pool is
   * not disturbed.
   */
  check?(settings: z.output<Settings>, pool: PoolContext): Promise<readonly string[]>;
  /** True: such a pool needs nothing of this machine, and `check` asks its storage. */
  readonly checksStorageOnly?: true;
  /** Lists the features that such a pool, although it works, does without on this machine, one line each. */
  missingFeatures?(settings: z.output<Settings>): Promise<readonly string[]>;
  /** Lists the paths of the files that an entry, even one with faults, names. Absent: a check does not look at them. */
  filesOf?(entry: Readonly<Record<string, unknown>>): readonly string[];
  /** Reads the owner mark of a pool that is not open; undefined without one. Absent: a check does not see it. */
  readOwner?(settings: z.output<Settings>): Promise<string | undefined>;
  /**
   * Returns the `attachmentBounds` that the opened backend will have, as far as the settings tell them. They keep
   * other pools away from its addresses and paths until it is open.
   */
  expectedBounds?(settings: z.output<Settings>): AttachmentBounds;
  /**
   * Opens the backend, or throws one line about the fault of the machine or the settings. UNAVAILABLE: it
   * cannot be opened now, and is tried again.
   */
  open(settings: z.output<Settings>, pool: PoolContext): Promise<Backend>;
}
