import type { Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Device, Judgement, Secrets } from '../connector.ts';

/** What one volume is on this node: a filesystem on a device, a raw device, or a share; chosen once for a request. */
export interface Carrier {
  /** True when a staged volume is mounted at its staging path, and false when it is connected alone. */
  readonly isMounted: boolean;
  /** True when the machine connects the volume by itself, as it does a disk that a hypervisor gives it. */
  readonly isSelfConnecting: boolean;
  /** INVALID_ARGUMENT when a volume of its kind cannot be used, or made, as was asked for. */
  requireUsable(): void;
  /** True when the block device with this number is the volume's now, as it is connected; absent where it has none. */
  ownsDevice?(number: string): Promise<boolean>;
  /** Begins to read what can be read before the volume is connected, beside its record being written; absent where nothing can. */
  lookAhead?(): void;
  /** Connects the volume, which is proved to be this one; run again it finds the same. */
  connect(secrets: Secrets): Promise<Connected>;
  /** Does what comes after the mount, for a volume that is mounted already; absent where nothing does. */
  finish?(mount: Mount, secrets: Secrets): Promise<Device>;
  /** Begins to disconnect a volume that is being unmounted; `disconnect` follows. Absent where nothing can be begun. */
  releaseAfterUse?(): Promise<void>;
  /** Disconnects the volume, which is mounted nowhere; what another volume has by now stays. */
  disconnect(): Promise<void>;
  /** What a mount shows: the volume, something else, or what is left of one that is gone. */
  judge(mount: Mount): Promise<Judgement>;
  /** What is bound to a target path; FAILED_PRECONDITION when it is not there any more. */
  findSource(mounts: readonly Mount[]): Promise<Source>;
  /** What is known of the volume at one of its paths; undefined when it is not there. */
  locate(at: At): Promise<Located | undefined>;
  /** What is wrong with the volume by what the kernel holds in memory: nothing on the volume is read. */
  examine(at: { readonly path: string; readonly mounts: readonly Mount[] }): Promise<readonly VolumeFault[]>;
  /** True when the volume outlived a restart of the machine, though nothing of it is mounted; `disks` are all that there are. */
  isHere(disks: readonly NamedDisk[]): Promise<boolean>;
}

/** A volume that is connected. */
export type Connected = {
  /** A share has none. */
  readonly device?: Device;
  /**
   * Makes what is to be used ready: opens a device that is encrypted, proves one blank before anything is made on it, checks
   * and grows a filesystem that is there.
   */
  prepare(): Promise<Prepared>;
};

/** A volume that can be used. */
export type Prepared = {
  /** The device that is used, decrypted where that is needed; a share has none. */
  readonly device?: Device;
  /** Mounts it at its staging path, as large as its device; absent where nothing is mounted. */
  mount?(): Promise<void>;
};

/** What is bound to the target path. */
export type Source = {
  readonly path: string;
  /** Nobody can write to it. */
  readonly readonly: boolean;
  /** A mount at which it is bound already, though it may not be recorded; absent for what is mounted, see `findUses`. */
  findUse?(mounts: readonly Mount[]): Promise<Mount | undefined>;
};

/** A path of the volume; `isAlone` says that nothing else is done with it meanwhile, so that its device may be connected. */
export type At = { readonly path: string; readonly mounts: readonly Mount[]; readonly isAlone: boolean };

/** A volume that is where it was said to be. */
export type Located = {
  /** The size of its device in bytes, as the kernel sees it now; of a share, what it has by its attachment. */
  readBytes(): Promise<number>;
  /** Has the kernel see the device's new size and returns it; UNAVAILABLE while it is less than required. */
  growDevice(requiredBytes: number): Promise<number>;
  /** Has the filesystem use all of its device; absent where there is none to grow. */
  growFilesystem?(): Promise<void>;
};

/** A block device by its name below /dev and its number. */
export type NamedDisk = { readonly name: string; readonly number: string };

/** Something that is wrong with a volume (CSI spec, "VolumeHealth"). */
export type VolumeFault = {
  readonly status: 'DEGRADED' | 'INACCESSIBLE';
  readonly reason: 'DeviceGone' | 'NotMounted' | 'ForeignMount' | 'Hung' | 'ReadFailed' | 'TurnedReadOnly';
  readonly message: string;
};

/** The fault of a volume that cannot be used. */
export function inaccessible(reason: VolumeFault['reason'], message: string): VolumeFault {
  return { status: 'INACCESSIBLE', reason, message };
}
