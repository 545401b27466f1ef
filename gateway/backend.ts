import type { z } from 'zod';
import type { Reach } from '../src/api/attachment.ts';
import type { AccessMode, AccessType, Capability, Capacity } from '../src/api/resources.ts';
import type { SettingsOf, SettingsTable } from '../src/lib/settings.ts';

/**
 * What a storage system must do to be driven by the gateway. Each method is given a resource whose id is already
 * chosen and recorded, must end in the same state however often it runs, and is never run twice at a time for one
 * volume. A backend keeps no records. A member that is absent is not offered. Errors are a `Problem`; anything else
 * thrown counts as "may still be running" and is tried again.
 */
export interface Backend {
  readonly name: string;
  readonly accessModes: readonly AccessMode[];
  readonly accessTypes: readonly AccessType[];
  /** The parameters of a volume (a StorageClass's parameters). Strict: what it does not know is refused by name. */
  readonly parameters: z.ZodType<Readonly<Record<string, string>>>;
  /**
   * Makes the volume and returns once it is durable. A volume with this id that is there already, in whole or in
   * part, is completed, and its size is told. OUT_OF_RANGE: no size within the bounds is possible, whatever is freed.
   * RESOURCE_EXHAUSTED: there is no room now. After either, nothing is left behind.
   */
  create(volume: NewVolume): Promise<CreatedVolume>;
  /** Removes the volume and what an unfinished create left; one that is not there is fine. */
  delete(volume: VolumeRef): Promise<void>;
  /** Opens the way from the node to the volume; returns once it is open. */
  attach(volume: KnownVolume, access: NodeAccess): Promise<Reach>;
  /** Closes the way; returns once the node can no longer read or write. One that is not open is fine. */
  detach(volume: VolumeRef, nodeId: string): Promise<void>;
  /** The room left for new volumes with these parameters. */
  capacity?(parameters: Readonly<Record<string, string>>): Promise<Capacity>;
  /** All volumes that are there, by id; what the gateway does not know is an orphan. */
  list?(): AsyncIterable<string>;
  /** Throws a `Problem` that says why the storage cannot be used now. */
  health?(): Promise<void>;
  close?(): Promise<void>;
}

/** Names a volume. */
export type VolumeRef = { readonly id: string };

/** A volume to make: at least `requiredBytes` (0: the backend chooses), at most `limitBytes` (0: no limit). */
export type NewVolume = VolumeRef & {
  readonly requiredBytes: number;
  readonly limitBytes: number;
  readonly parameters: Readonly<Record<string, string>>;
  readonly capabilities: readonly Capability[];
};

/** What was made: the size allocated, and what nodes are told at every mount (not secret). */
export type CreatedVolume = {
  readonly sizeBytes: number;
  readonly context?: Readonly<Record<string, string>>;
};

/** A volume that was made. */
export type KnownVolume = VolumeRef & {
  readonly sizeBytes: number;
  readonly parameters: Readonly<Record<string, string>>;
};

/** Which node wants to use a volume, and how. */
export type NodeAccess = {
  readonly nodeId: string;
  readonly attachmentId: string;
  readonly capability: Capability;
  readonly readonly: boolean;
};

/** What a backend's file gives to the registry: its settings, flags that start with its name, and how to open it. */
export interface BackendPlugin<T extends SettingsTable> {
  readonly settings: T;
  /** Opens the backend, or throws with one line that says what is wrong with the machine or the settings. */
  open(values: SettingsOf<T>): Promise<Backend>;
}
