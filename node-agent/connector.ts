import type { AttachmentOf, Protocol } from '../src/api/attachment.ts';
import type { Host } from './host.ts';

/**
 * Brings a volume to this machine over one attach protocol. `connect` and `disconnect` may be run again at any
 * point, after a crash too, and then end in the same state.
 */
export interface Connector<P extends Protocol> {
  readonly protocol: P;
  /** Connects and returns the device once it is there and proved to be this volume's. */
  connect(attachment: AttachmentOf<P>, host: Host): Promise<Device>;
  /** Options with which umount disconnects the device as well, so that `disconnect` finds nothing left to do. */
  readonly unmountOptions?: readonly string[];
  /** Disconnects and returns once no device of this volume is left; none there is fine, one in use is an error. */
  disconnect(attachment: AttachmentOf<P>, host: Host): Promise<void>;
  /** Has the machine look at the size of the connected device anew; the size may be seen a little later. */
  rescan?(attachment: AttachmentOf<P>, host: Host): Promise<void>;
  /** True when the block device with this number is this volume's now, by what the device says of itself. */
  owns(attachment: AttachmentOf<P>, number: string, host: Host): Promise<boolean>;
}

/** A block device on this machine. */
export type Device = {
  readonly path: string;
  /** `major:minor`, as mountinfo shows it. */
  readonly number: string;
  readonly sizeBytes: number;
  /** The kernel refuses every write to it. */
  readonly readonly: boolean;
  /** What the device says of itself, the same whenever this volume is connected and never another volume's. */
  readonly identity: string;
};
