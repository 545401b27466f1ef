import type { Attachment, AttachmentOf, Protocol } from '../src/api/attachment.ts';
import { invalidProblem, type Problem } from '../src/api/problem.ts';
import type { Host } from './host.ts';
import type { Mount } from '../src/lib/linux/mountinfo.ts';

/** Brings a volume to this machine over one attach protocol: as a device, or as a share. */
export type Connector<P extends Protocol> = (DeviceConnector<P> | ShareConnector<P>) & {
  /** The attachment's `path` is one of this machine, which the node must allow; what is used has exactly this path, or is refused. */
  readonly isLocal?: true;
};

/** Brings a volume as a block device. `connect` and `disconnect`, run again at any point, end in the same state. */
export interface DeviceConnector<P extends Protocol> {
  readonly kind: 'device';
  /**
   * Connects and returns the device once it is there and proved to be this volume's. A connector that takes `secrets`
   * refuses unknown ones, needs them once, and leaves none on the machine after `disconnect`; others ignore all.
   */
  connect(attachment: AttachmentOf<P>, host: Host, secrets?: Secrets): Promise<Device>;
  /**
   * A file of this machine that has what is on the device, and is looked at before that is connected. What is seen there decides
   * what is tried; that a device is blank is proved on itself.
   */
  contentPath?(attachment: AttachmentOf<P>): string;
  /** The machine connects the device by itself, after a reboot too: that it is there does not say that it is used. */
  readonly isSelfConnecting?: boolean;
  /**
   * Disconnects and returns once no device of this volume is left, but for one that others take away; none there is
   * fine, one in use is an error. What it shares with `others`, the volumes that may be connected beside it, stays.
   */
  disconnect(attachment: AttachmentOf<P>, host: Host, others?: Others): Promise<void>;
  /** Has the machine look at the size of the connected device anew; the size may be seen a little later. */
  rescan?(attachment: AttachmentOf<P>, host: Host): Promise<void>;
  /** Brings connections back that were lost, where neither the kernel nor a service does that by itself. */
  repair?(attachments: readonly AttachmentOf<P>[], host: Host): Promise<void>;
  /** True when the block device with this number is this volume's now, by what the device says of itself. */
  owns(attachment: AttachmentOf<P>, number: string, host: Host): Promise<boolean>;
  /**
   * Takes away the device that this volume was connected as and has been since, whatever it says of itself by now. Present
   * where that can change; then the connection is recorded.
   */
  release?(connection: Connection, host: Host): Promise<void>;
  /**
   * Has the device that this volume was connected as go with its last user, so that it may still be in use. Present where
   * the kernel can do that; a device that does not go even so is left to `disconnect`.
   */
  releaseAfterUse?(connection: Connection, host: Host): Promise<void>;
  /** True when what the device with this number says of itself is what is left of this volume. */
  isLeftover?(attachment: AttachmentOf<P>, number: string, host: Host): Promise<boolean>;
}

/** How the other volumes on this machine are reached, at the time of the call. */
export type Others = () => readonly Attachment[];

/** Brings a volume as a directory that is mounted as it is; the mount is all that there is of it on the node. */
export interface ShareConnector<P extends Protocol> {
  readonly kind: 'share';
  /** Mount flags that this share takes beside the common ones, and what their value may be. */
  readonly allowedFlags: Readonly<Record<string, RegExp>>;
  /**
   * Finds what the mount needs, and says how it is done; changes nothing that would have to be undone. A connector that takes
   * `secrets` refuses unknown ones; others ignore all.
   */
  connect(attachment: AttachmentOf<P>, host: Host, secrets?: Secrets): Promise<Share>;
  /** What a mount shows, by mountinfo alone: this volume, something else, or the volume's directory that was removed. */
  judge(attachment: AttachmentOf<P>, mount: Mount, host: Host): Promise<Judgement>;
}

/** What a mount shows: the volume, something else, or what is left of a device or directory that is missing. */
export type Judgement = 'own' | 'foreign' | 'stale';

/** What `mount` is given to mount a share. */
export type Share = {
  readonly source: string;
  /** The type of the filesystem, where `mount` needs it. */
  readonly type?: string;
  /** Options that hold unless a mount flag of the same name is given. */
  readonly options: readonly string[];
  /** Runs `mount`, where it needs more than its arguments. */
  readonly through?: Through;
};

/** A command, to whose arguments those of `mount` are added, and its standard input. */
export type Through = { readonly command: string; readonly args: readonly string[]; readonly input: string };

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
  /** Which use of its number this is, counted by the kernel since 5.15; noted when the volume is connected. */
  readonly diskseq?: string | undefined;
  /** The number of the device that this one decrypts, where a volume is encrypted. */
  readonly below?: string | undefined;
};

/** One connection of a volume: a device, and which use of its number it is among all of all boots. */
export type Connection = Pick<Device, 'path' | 'number'> & { readonly use: string };

/**
 * What a caller gives for one call and no other may learn (CSI `secrets`), by key. It is never recorded or logged, is
 * in no error, and is no argument of a command, since every user of a machine can read those.
 */
export type Secrets = Readonly<Record<string, string>>;

/** The keys that may be given, and for each those that must be given with it. */
export type SecretKeys = Readonly<Record<string, readonly string[]>>;

/** INVALID_ARGUMENT names a key that is unknown, empty, or of no use without another; never a value. */
export function requireKnownSecrets(secrets: Secrets, known: SecretKeys): void {
  for (const [key, value] of Object.entries(secrets)) {
    if (!Object.hasOwn(known, key))
      throw secretProblem(key, `is not known; there are ${Object.keys(known).join(', ')}`);
    if (value === '') throw secretProblem(key, 'is empty');
    const missing = known[key]?.find(other => secrets[other] === undefined);
    if (missing !== undefined) throw secretProblem(key, `is given without "${missing}"`);
  }
}

/** INVALID_ARGUMENT that names the secret by its key; `fault` says nothing of its value. */
export function secretProblem(key: string, fault: string): Problem {
  return invalidProblem(`secret "${key}" ${fault}`);
}
