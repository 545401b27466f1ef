import type { AttachmentOf, Protocol } from '../src/api/attachment.ts';
import type { Host } from './host.ts';

/**
 * Brings a volume to this machine over one attach protocol. Both methods may be run again at any point, after a
 * crash too, and then end in the same state.
 */
export interface Connector<P extends Protocol> {
  readonly protocol: P;
  /** The commands it needs, checked at start; one that is missing is named when the protocol is used. */
  readonly commands: readonly string[];
  /** Connects and returns the device once it is there and proved to be this volume's. */
  connect(attachment: AttachmentOf<P>, host: Host): Promise<Device>;
  /** Disconnects and returns once no device of this volume is left; none there is fine. */
  disconnect(attachment: AttachmentOf<P>, host: Host): Promise<void>;
  /** Makes the kernel see the volume's present size. */
  rescan?(attachment: AttachmentOf<P>, device: Device, host: Host): Promise<void>;
}

/** A block device on this machine. */
export type Device = {
  readonly path: string;
  /** `major:minor`, as mountinfo shows it. */
  readonly number: string;
  readonly sizeBytes: number;
};
