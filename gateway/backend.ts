import type { z } from 'zod';
import type { Reach } from '../src/api/attachment.ts';
import { clusterOf } from '../src/api/ids.ts';
import type { AccessMode, AccessType, Capability, Capacity, CapacitySpec } from '../src/api/storage.ts';
import type { Segments } from '../src/api/topology.ts';
import type { Health } from '../src/api/volume.ts';
import type { Log } from '../src/lib/log.ts';

export { Problem, type ProblemCode } from '../src/api/problem.ts';

/**
 * What a storage system must do to be driven by the gateway. Each method is given a resource whose id is already
 * chosen and recorded, must end in the same state however often it runs, and is never run twice at a time for one
 * volume. A backend keeps no records. A member that is absent is not offered. Errors are a `Problem`; anything else
 * thrown counts as "may still be running" and is tried again.
 */
export interface Backend {
  readonly name: string;
  readonly accessModes: readonly AccessMode[];
  /** Only what reads as zeros when it is new, or is a share, is offered as `mount`: nodes make a filesystem there. */
  readonly accessTypes: readonly AccessType[];
  /** Its volumes are directories with a filesystem of their own, which nodes do not make. */
  readonly areShares?: true;
  /** A StorageClass's parameters without options of a filesystem (`fs.…`). Strict: an unknown one is refused by name. */
  readonly parameters: z.ZodType<Readonly<Record<string, string>>>;
  /**
   * The topologies that volumes can be in, the first being the best when nothing is asked. Absent: everything is reached
   * from everywhere. A storage with topologies makes copies of a volume or snapshot only where that is.
   */
  readonly topologies?: readonly Segments[];
  /** The gateway chooses a size of these and asks for it as `requiredBytes`. Absent: the backend chooses one. */
  readonly sizes?: VolumeSizes;
  /**
   * Makes the volume and returns once it is durable. A volume with this id that exists already, in whole or in part, is
   * completed if it was made with this nonce; what carries another is another's, is left as it is, and is ALREADY_EXISTS.
   * OUT_OF_RANGE: the storage can make no volume of this size. RESOURCE_EXHAUSTED: it has no space for it now. What a
   * failure leaves is not removed here, where others may have made it whole meanwhile: a `delete` follows.
   */
  create(volume: NewVolume): Promise<CreatedVolume>;
  /**
   * Removes the volume and what an unfinished create left; a missing one is fine, and so is one made with another nonce,
   * which stays. FAILED_PRECONDITION, and nothing is changed, when the storage sees that a node uses it.
   */
  delete(volume: VolumeRef): Promise<void>;
  /** Lets the node reach the volume; returns once it can. */
  attach(volume: KnownVolume, access: NodeAccess): Promise<Reach>;
  /** Returns once the node, of that cluster, can no longer read or write. A volume that is not attached is fine. */
  detach(volume: VolumeRef, nodeId: string, cluster?: string): Promise<void>;
  /**
   * Called once when the pool was opened, before anything else is asked: all that is recorded as attached is reached again,
   * as after a reboot of the storage's machine, and what is not is reached no more. What one volume lacks keeps no other
   * from its nodes.
   */
  restore?(attached: AsyncIterable<AttachedVolume>): Promise<void>;
  /** Of a storage that must know its nodes: the node has left its cluster, with no volume attached; an unknown one is fine. */
  forgetNode?(node: { readonly cluster: string; readonly nodeId: string }): Promise<void>;
  /** What a new volume may be filled from; absent means that volumes always start empty. */
  readonly sources?: readonly VolumeSource['kind'][];
  /**
   * Grows the volume to a size within the bounds, attached or not; one that is large enough already stays as it is, and
   * its size is answered. OUT_OF_RANGE and RESOURCE_EXHAUSTED as for `create`, with nothing changed.
   */
  expand?(volume: KnownVolume, bounds: SizeBounds): Promise<ExpandedVolume>;
  readonly modification?: Modification;
  readonly snapshots?: Snapshots;
  readonly changes?: Changes;
  /** What is wrong with the volume now; empty when nothing is. At most one entry for each status and reason. */
  volumeHealth?(volume: KnownVolume): Promise<readonly HealthEntry[]>;
  /** What the storage has in all, reserved or not, in one of the `topologies` where there are such. */
  capacity?(segments?: Segments): Promise<{ readonly totalBytes: number }>;
  /**
   * Instead of `capacity`, of a storage that counts its space itself and alone decides what fits: what there is for new
   * volumes of a kind.
   */
  available?(kind: CapacitySpec): Promise<Capacity>;
  /** The ids of all volumes; what the gateway does not know is an orphan. */
  list?(): AsyncIterable<string>;
  /** Says in the storage itself whose it is. Absent: what it holds is all that tells. */
  readonly owner?: OwnerMark;
  close?(): Promise<void>;
}

/** One line, kept durably beside the volumes. */
export interface OwnerMark {
  /** Undefined when none was ever written. */
  read(): Promise<string | undefined>;
  write(mark: string): Promise<void>;
}

/** The sizes that volumes can have, in bytes: a whole number of steps from the minimum to the maximum. */
export type VolumeSizes = {
  readonly minimumBytes: number;
  readonly stepBytes: number;
  /** Taken when no size is asked for, or as much of it as the limit allows. */
  readonly defaultBytes: number;
  /** Absent: as large as the pool. */
  readonly maximumBytes?: number;
};

/** Changing a volume's mutable parameters (a VolumeAttributesClass's parameters). */
export interface Modification {
  /** Strict, as `Backend.parameters`. */
  readonly parameters: z.ZodType<Readonly<Record<string, string>>>;
  /** Applies these parameters and leaves others as they are; INVALID_ARGUMENT only when nothing was changed. */
  apply(volume: KnownVolume, parameters: Readonly<Record<string, string>>): Promise<void>;
}

/** Copies of volumes at one point in time. */
export interface Snapshots {
  /** The parameters of a snapshot (a VolumeSnapshotClass's parameters); strict. */
  readonly parameters: z.ZodType<Readonly<Record<string, string>>>;
  /**
   * Returns once the snapshot is taken: what is written to the volume from then on is not in it. `ready` is false while
   * it cannot be used yet; the same call later answers how it is. FAILED_PRECONDITION, with the reason, when the
   * snapshot would not be of one point in time, as when the volume is written meanwhile.
   */
  create(snapshot: NewSnapshot): Promise<CreatedSnapshot>;
  /** What a snapshot of the volume as it is now takes of the pool, to reserve that before. Absent: the volume's size. */
  measure?(volume: KnownVolume): Promise<number>;
  /** Removes the snapshot and what an unfinished create left; a missing one is fine, and one of another nonce stays. */
  delete(snapshot: SnapshotRef): Promise<void>;
  /** Takes all members at one point in time or none, with the reason. Absent: groups are not offered. */
  createGroup?(members: readonly NewSnapshot[]): Promise<readonly CreatedSnapshot[]>;
  /** The ids of all snapshots. */
  list?(): AsyncIterable<string>;
}

/** Which blocks of a snapshot hold data, and which differ between two snapshots of one volume. */
export interface Changes {
  /** Extents that are allocated, from the first that ends after `fromOffset`; increasing, without overlap. */
  allocated(snapshot: KnownSnapshot, fromOffset: number): AsyncIterable<Extent>;
  /** Extents that may differ, likewise: the base with these bytes of the target is the target. */
  changed(
    pair: { readonly base: KnownSnapshot; readonly target: KnownSnapshot },
    fromOffset: number,
  ): AsyncIterable<Extent>;
}

/** A stretch of bytes. */
export type Extent = { readonly offset: number; readonly length: number };

/** At least `requiredBytes`, at most `limitBytes`; 0 is no bound. */
export type SizeBounds = { readonly requiredBytes: number; readonly limitBytes: number };

/** The size that the volume has now, and whether the node must grow the filesystem. */
export type ExpandedVolume = { readonly sizeBytes: number; readonly nodeExpansionRequired: boolean };

/** Names a snapshot, as `VolumeRef` does; a member of a group has the group's nonce, and its place in it from 0. */
export type SnapshotRef = VolumeRef & { readonly group?: { readonly id: string; readonly member: number } };

/** The id of a member of a group. */
export function memberIdOf(groupId: string, nonce: string, member: number): string {
  return `${clusterOf(groupId)}.member-${nonce}-${member}`;
}

/** A snapshot that was taken. It is where its volume was; without a topology it is reached from everywhere. */
export type KnownSnapshot = SnapshotRef & {
  readonly volumeId: string;
  readonly sizeBytes: number;
  readonly segments?: Segments;
};

/** A snapshot to take. */
export type NewSnapshot = SnapshotRef & {
  /** As a volume's: a snapshot that carries another is another's. */
  readonly nonce: string;
  readonly volume: KnownVolume;
  /** Some node may write to the volume now. */
  readonly attachedForWriting: boolean;
  readonly parameters: Readonly<Record<string, string>>;
};

/** The volume's size when the snapshot was taken, and when that was, in milliseconds since the epoch. */
export type CreatedSnapshot = {
  /** What the snapshot takes of the pool; absent: its size. */
  readonly reservedBytes?: number;
  readonly sizeBytes: number;
  readonly createdAtMs: number;
  readonly ready: boolean;
};

/** What a new volume is filled from; it must be at least as large. */
export type VolumeSource =
  | { readonly kind: 'snapshot'; readonly snapshot: KnownSnapshot }
  | { readonly kind: 'volume'; readonly volume: KnownVolume; readonly attachedForWriting: boolean };

/** One thing that is wrong with a volume (CSI spec, "VolumeHealth"); its reason is one word in CamelCase for machines. */
export type HealthEntry = Health['entries'][number];

/**
 * Names a volume or a snapshot. The nonce is that of the gateway's record, and no other record of the same id has it: what
 * carries another is not the volume, for every method, so that what a gateway does too late, for a record that is gone,
 * changes nothing. Absent or empty: whatever has the id.
 */
export type VolumeRef = { readonly id: string; readonly nonce?: string };

/** A volume to make. */
export type NewVolume = VolumeRef &
  SizeBounds & {
    readonly nonce: string;
    readonly parameters: Readonly<Record<string, string>>;
    /** Given only when `sources` names its kind. */
    readonly source?: VolumeSource;
    /** Given only when the backend has `modification`. */
    readonly mutableParameters?: Readonly<Record<string, string>>;
    readonly capabilities: readonly Capability[];
    /** Those of the backend's `topologies` in which the volume may be, best first, at least one; absent as they are. */
    readonly topologies?: readonly Segments[];
  };

/** What was made. */
export type CreatedVolume = {
  readonly sizeBytes: number;
  /** Where it is; may be left out where there is one topology. */
  readonly segments?: Segments;
  /** What nodes are given at every mount; not secret. */
  readonly context?: Readonly<Record<string, string>>;
};

/** A volume that was made. */
export type KnownVolume = VolumeRef & {
  readonly sizeBytes: number;
  readonly parameters: Readonly<Record<string, string>>;
  /** Where it is; absent: it is reached from everywhere. */
  readonly segments?: Segments;
};

/** Which node wants to use a volume, and how. */
export type NodeAccess = {
  readonly nodeId: string;
  /** Whose node it is: nodes of two clusters may have the same id, and both reach a volume that is shared. */
  readonly cluster?: string;
  readonly attachmentId: string;
  readonly capability: Capability;
  readonly readonly: boolean;
  /** Where the cluster says that the node is. */
  readonly topology?: Segments;
};

/** A volume that a node has, or is being given. `reach` is how; absent while that is not decided. */
export type AttachedVolume = {
  readonly volume: KnownVolume;
  readonly access: NodeAccess;
  readonly reach?: Reach | undefined;
};

/** What proves to others which gateway this is. */
export interface Identity {
  /** The gateway's name, which never changes. */
  readonly name: string;
  /** A bearer token for the audience; `renew` asks for a new one because the last was not accepted. */
  token(audience: string, renew: boolean): Promise<string>;
}

/** What a pool is opened with. */
export type PoolContext = {
  readonly name: string;
  readonly log: Log;
  /** Where the configuration file is, to which paths in settings are relative; absent: the working directory. */
  readonly directory?: string;
  readonly identity?: Identity;
};

/** What a backend's file gives to the registry. */
export interface BackendPlugin<Settings extends z.ZodType = z.ZodType> {
  /** What a pool's entry in the configuration holds beside `backend`, `topology` and `concurrency`; strict. */
  readonly settings: Settings;
  /** How many calls it takes at a time at the most, where its settings say so. */
  mostAtOnce?(settings: z.output<Settings>): number;
  /** What this machine lacks for such a pool, one line each; changes nothing, and a pool that is open goes on. */
  check?(settings: z.output<Settings>, pool: PoolContext): Promise<readonly string[]>;
  /**
   * Opens the backend, or throws one line that says what is wrong with the machine or the settings. UNAVAILABLE: it
   * cannot be opened now, and is tried again.
   */
  open(settings: z.output<Settings>, pool: PoolContext): Promise<Backend>;
}
