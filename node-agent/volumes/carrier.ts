import type { Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Connection, Device, Judgement, Secrets } from '../connector.ts';
import type { NamedDisk } from '../host/disk-use.ts';

/** The way one volume is used on this node: as a filesystem on a device, a raw device, or a share. Chosen once per request. */
export interface Carrier {
  /** True if staging mounts the volume at its staging path; false if it only connects the volume. */
  readonly isMounted: boolean;
  /** Present if the volume's server may refuse root, so that the agent has to ask it. */
  readonly maySquashRoot?: true;
  /** True if the machine connects the volume without the agent, such as a disk that a hypervisor plugs in. */
  readonly isSelfConnecting: boolean;
  /** INVALID_ARGUMENT if the request does not fit a volume of this kind. */
  requireUsable(): void;
  /** True if the block device with this number is the volume's connected device; absent for a share. */
  ownsDevice?(number: string): Promise<boolean>;
  /** Starts reading the volume's content before it is connected, while its record is written; absent if that is impossible. */
  lookAhead?(): void;
  /** Connects the volume and proves its identity. Safe to run again: it returns the same device. */
  connect(secrets: Secrets): Promise<ConnectedVolume>;
  /** Runs the steps after the mount for a volume that is mounted already; absent if there are none. */
  finish?(mount: Mount, secrets: Secrets): Promise<Device>;
  /**
   * Cuts a mounted volume off from its storage, so that no data in memory is written and all later requests to it fail.
   * FAILED_PRECONDITION if the volume cannot be cut off. The unmount and `disconnect` follow.
   */
  cutOff(mounts: readonly Mount[]): Promise<void>;
  /**
   * Thaws the filesystem at the staging path if a program, such as a killed backup, left it frozen. Absent for volumes that
   * cannot be frozen.
   */
  thaw?(): Promise<void>;
  /** See `isFrozen` of `format/frozen.ts`. Absent for volumes that cannot be frozen. */
  isFrozen?(mayWait: boolean): Promise<boolean>;
  /** Starts to disconnect the volume while it is unmounted; `disconnect` follows. Absent if that has no early step. */
  releaseAfterUse?(): Promise<void>;
  /** Recalls, at the agent's start, the proofs of an earlier process about the connected device; absent for a share. */
  recall?(): Promise<void>;
  /** Disconnects the volume, which is mounted nowhere. A device that belongs to another volume by now stays. */
  disconnect(): Promise<void>;
  /** Judges whether a mount shows the volume, something else, or a leftover of the volume. */
  judge(mount: Mount): Promise<Judgement>;
  /** Finds the source of the bind mounts at target paths; FAILED_PRECONDITION if it is gone. */
  findSource(mounts: readonly Mount[]): Promise<Source>;
  /** True if a mount forbids writing, by its options or by its device. */
  isReadonly(mount: Mount): Promise<boolean>;
  /** Finds the volume at one of its paths; undefined if it is not there. */
  locate(at: LocateRequest): Promise<LocatedVolume | undefined>;
  /** Lists the volume's faults as far as the kernel knows them; reads nothing from the volume. */
  examine(at: { readonly path: string; readonly mounts: readonly Mount[] }): Promise<readonly VolumeFault[]>;
  /** True if the unmounted volume is still connected and so outlived a restart; `disks` lists all disks. */
  isHere(disks: readonly NamedDisk[]): Promise<boolean>;
}

type ConnectedVolume = {
  /** Absent for a share. */
  readonly device?: Device;
  /** Opens an encrypted device, proves a device blank before formatting it, checks and grows an existing filesystem. */
  prepare(): Promise<PreparedVolume>;
};

export type PreparedVolume = {
  /** The device for users, above any encryption; absent for a share. */
  readonly device?: Device;
  /** Mounts the volume at its staging path and grows its filesystem to the device; absent for a raw device. */
  mount?(): Promise<void>;
};

export type Source = {
  readonly path: string;
  readonly readonly: boolean;
  /**
   * Makes a read-only device over the source and passes it to `note`; removes the device if `note` fails. Absent for a
   * read-only source, and if a read-only mount is enough to forbid writing.
   */
  openView?(note: (view: Connection) => Promise<void>): Promise<Connection>;
  /** Finds an existing bind mount of a raw device, recorded or not. For a mounted volume `findUses` does so. */
  findUse?(mounts: readonly Mount[]): Promise<Mount | undefined>;
};

/** A path of the volume; `isAlone`: no other work on the volume runs meanwhile, so its device may be connected. */
export type LocateRequest = {
  readonly path: string;
  readonly mounts: readonly Mount[];
  readonly isAlone: boolean;
};

export type LocatedVolume = {
  /** Returns the size of the device in bytes, as the kernel sees it now; for a share the size in its attachment. */
  readBytes(): Promise<number>;
  /** Makes the kernel see the device's new size and returns it; UNAVAILABLE while it is less than required. */
  growDevice(requiredBytes: number): Promise<number>;
  /** Grows the filesystem to its whole device; absent if the agent does not manage a filesystem. */
  growFilesystem?(): Promise<void>;
};

/** A fault of a volume (CSI spec, "VolumeHealth"). */
export type VolumeFault = {
  readonly status: 'DEGRADED' | 'INACCESSIBLE';
  readonly reason:
    | 'DeviceGone'
    | 'NotMounted'
    | 'ForeignMount'
    | 'Hung'
    | 'Frozen'
    | 'ReadFailed'
    | 'TurnedReadOnly'
    | 'NotGrown'
    | 'RootRefused';
  readonly message: string;
};

export function inaccessible(reason: VolumeFault['reason'], message: string): VolumeFault {
  return { status: 'INACCESSIBLE', reason, message };
}
