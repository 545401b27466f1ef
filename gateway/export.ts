import type { z } from 'zod';
import type { Protocol, Reach } from '../src/api/attachment.ts';
import type { AccessMode } from '../src/api/storage.ts';
import type { Log } from '../src/lib/log.ts';
import type { NodeAccess, VolumeRef } from './backend.ts';

/**
 * How a pool's volumes leave its machine: one target for one attachment, so that withdrawing it closes that node's way and
 * no other's, whatever the node does. Each method ends in the same state however often it runs, and is never run twice at a
 * time for one volume. An export keeps no records. Errors are a `Problem`.
 */
export interface Export {
  /** By which nodes reach volumes that it publishes. */
  readonly protocol: Protocol;
  /** How volumes can be used over it, by as many nodes as these say. */
  readonly accessModes: readonly AccessMode[];
  /** Makes the target of this attachment, for this node alone; what an earlier attachment of the node left is withdrawn. */
  publish(volume: ExportedVolume, access: NodeAccess): Promise<Reach>;
  /**
   * Returns once it was read back that nothing is left of any attachment of the volume to this node of that cluster; what it
   * wrote later than that is nowhere. Nothing there is fine. UNAVAILABLE while something is left.
   */
  withdraw(volume: ExportedRef, nodeId: string, cluster?: string): Promise<void>;
  /** The targets of the volume that are there, for messages, such as `nvme subsystem "nqn…"`. */
  users?(volume: ExportedRef): Promise<readonly string[]>;
  /** Shows nodes the size that the file has now. */
  resize?(volume: ExportedVolume): Promise<void>;
  /**
   * Publishes again what is recorded as attached, as nodes were told of it, and removes every other target of this pool. What one volume lacks is
   * logged, and keeps no other from its nodes.
   */
  restore?(attached: AsyncIterable<ExportedAttachment>): Promise<void>;
  /** What this machine lacks, one line each; changes nothing. */
  check?(): Promise<readonly string[]>;
  /** Targets stay: nodes go on without the gateway. */
  close?(): Promise<void>;
}

/** The file of a volume. */
export type ExportedRef = VolumeRef & { readonly path: string };

/** The file of a volume that is there, and its size now. */
export type ExportedVolume = ExportedRef & { readonly sizeBytes: number };

/** A volume that a node has, or is being given. `reach` is how the node was told to reach it; absent while it was not. */
export type ExportedAttachment = {
  readonly volume: ExportedVolume;
  readonly access: NodeAccess;
  readonly reach?: Reach | undefined;
};

/** What an export is opened with. */
export type ExportContext = {
  /** The directory of the volumes' files. */
  readonly root: string;
  readonly log: Log;
  /**
   * The secret of this pool, the same at each start: what tells its targets from another pool's, and what an attachment's
   * credentials are derived from, comes from it.
   */
  readonly poolKey: () => Promise<Uint8Array>;
};

/** What an export's file gives to the registry. */
export interface ExportPlugin<Settings extends z.ZodType = z.ZodType> {
  /** What `export` of a pool holds, `protocol` included, which is the export's name; strict. */
  readonly settings: Settings;
  /** Changes nothing on the machine: `check` comes first. */
  open(settings: z.output<Settings>, context: ExportContext): Promise<Export>;
}
