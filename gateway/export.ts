import type { z } from 'zod';
import type { Protocol, Reach } from '../src/api/attachment.ts';
import type { AccessMode } from '../src/api/storage.ts';
import type { Log } from '../src/lib/log.ts';
import type { NodeAccess, VolumeRef } from './backend.ts';

/**
 * The contract for serving a pool's volumes, which are files, block devices or directories, to other machines. Each attachment has its
 * own target, so that withdrawing it closes this node's path and no other's, even if the node does not cooperate. Each
 * method ends in the same state however often it runs, and is never run twice at a time for one volume. An export keeps no
 * records. Errors are a `Problem`.
 */
export interface Export {
  /** The protocol of the path from nodes to its volumes. */
  readonly protocol: Protocol;
  /** Addresses, or hosts without a port, that nodes connect to. Absent: nodes connect to nothing. */
  readonly addresses?: readonly string[];
  /** The access modes of volumes over this export. */
  readonly accessModes: readonly AccessMode[];
  /**
   * Makes the target of this attachment, for this node alone. The rest of an earlier attachment of the node
   * is withdrawn.
   */
  publish(volume: ExportedVolume, access: NodeAccess): Promise<Reach>;
  /**
   * Returns once a read proves that no attachment of the volume to this node of that cluster is left. Later
   * writes of the node are lost. If there is no attachment, nothing happens. UNAVAILABLE while something is
   * left.
   */
  withdraw(volume: ExportedRef, nodeId: string, cluster?: string): Promise<void>;
  /** Lists the existing targets of the volume for messages, such as `nvme subsystem "nqn…"`. */
  users?(volume: ExportedRef): Promise<readonly string[]>;
  /** Shows nodes the present size of the file or device. */
  resize?(volume: ExportedVolume): Promise<void>;
  /**
   * Publishes all recorded attachments again, exactly as nodes know them, and removes every other target of
   * this pool. A fault of one volume is logged, and does not keep nodes from other volumes. Its target stays if there is
   * one, and the volume is tried again until it is published or withdrawn.
   */
  restore?(attached: AsyncIterable<RecordedAttachment>): Promise<void>;
  /** Lists the machine's missing prerequisites, one line each. It changes nothing. */
  check?(): Promise<readonly string[]>;
  /** Targets stay, so that nodes continue without the gateway. */
  close?(): Promise<void>;
}

/** Returns true when the target must accept the node's writes, even from a reader that may replay a journal. */
export function takesWrites({ readonly, mayReplay }: NodeAccess): boolean {
  return !readonly || mayReplay === true;
}

export type ExportedRef = VolumeRef & { readonly path: string };

/** The file, device or directory of an existing volume, and its present size. */
export type ExportedVolume = ExportedRef & { readonly sizeBytes: number };

/** An attachment in effect or in progress. `reach` is the answer that the node got; absent if it got none. */
export type ExportedAttachment = {
  readonly volume: ExportedVolume;
  readonly access: NodeAccess;
  readonly reach?: Reach | undefined;
};

/** An attachment as it is recorded. `find` looks for its volume, and rejects while the volume cannot be used. */
export type RecordedAttachment = Omit<ExportedAttachment, 'volume'> & {
  readonly volume: VolumeRef;
  readonly find: () => Promise<ExportedVolume>;
};

/** What the paths of a pool's volumes are. */
export type VolumeKind = 'file' | 'device' | 'directory';

export type ExportContext = {
  /** The directory of the volumes' paths. */
  readonly root: string;
  readonly kind: VolumeKind;
  readonly log: Log;
  /**
   * Returns the secret of this pool, which is the same at each start. It distinguishes the pool's targets
   * from other pools' targets, and the credentials of attachments are derived from it.
   */
  readonly poolKey: () => Promise<Uint8Array>;
};

/** The settings that all exports have: `protocol` is the name of the export. */
export type ExportSettings = {
  readonly protocol: string;
  readonly addresses?: readonly string[];
};

/** The entry of an export in the registry; the registry itself is one whose settings choose the export. */
export interface ExportPlugin<Settings extends z.ZodType<ExportSettings> = z.ZodType<ExportSettings>> {
  /** The settings in `export` of a pool, including `protocol`, which is the name of the export; strict. */
  readonly settings: Settings;
  /** Returns the attach protocol of the export with these settings. */
  protocolOf(settings: z.output<Settings>): Protocol;
  /** Returns the kinds of volumes that the export can serve. */
  kindsOf(settings: z.output<Settings>): readonly VolumeKind[];
  /** Opens the export. It changes nothing on the machine, because `check` comes first. */
  open(settings: z.output<Settings>, context: ExportContext): Promise<Export>;
}
