import type { Attachment, AttachmentOf, Protocol } from '../src/api/attachment.ts';
import { asProblem, invalidProblem, problemTable, type Problem } from '../src/api/problem.ts';
import type { Host } from './host.ts';
import type { Mount } from '../src/lib/linux/mountinfo.ts';

/** Connects volumes to this machine over one attach protocol, as devices or as shares. */
export type Connector<P extends Protocol> = (DeviceConnector<P> | ShareConnector<P>) & {
  /** The attachment's `path` is on this machine and must be allowed by the node; a path with symbolic links is refused. */
  readonly isLocal?: true;
};

/** Connects volumes as block devices. `connect` and `disconnect` are safe to run again at any point. */
export interface DeviceConnector<P extends Protocol> {
  readonly kind: 'device';
  /**
   * Connects the volume and returns its device once the device exists and is proved to be this volume's. A connector that
   * uses `secrets` refuses unknown ones and leaves none on the machine after `disconnect`; other connectors ignore them.
   * Before a final error it disconnects any other volume's device that it connected, since `disconnect` cannot find it.
   */
  connect(attachment: AttachmentOf<P>, host: Host, secrets?: Secrets): Promise<Device>;
  /**
   * Returns a file of this machine with the device's content, so that the content can be probed before the device is
   * connected. That a device is blank is always proved on the device itself.
   */
  contentPath?(attachment: AttachmentOf<P>): string;
  /**
   * True if nothing was ever written to the connected device, so that it is blank without being read. Absent if only the
   * device's content tells.
   */
  isUnwritten?(attachment: AttachmentOf<P>, device: Device, host: Host): Promise<boolean>;
  /** The machine connects the device without the agent, even after a reboot, so its presence does not prove any use. */
  readonly isSelfConnecting?: boolean;
  /**
   * Disconnects the volume and returns once none of its devices is left, except devices that the hypervisor removes. A
   * device in use is an error; if there is none, nothing happens. Connections shared with `others` stay.
   */
  disconnect(attachment: AttachmentOf<P>, host: Host, others?: OtherAttachments): Promise<void>;
  /**
   * Cuts a volume's device off from its storage, even while it is in use: all later requests fail, and data in memory is not
   * written. If the volume is not connected, nothing happens. `disconnect` follows. FAILED_PRECONDITION if the device cannot
   * be cut off, or if that would cut off another volume.
   */
  cutOff(attachment: AttachmentOf<P>, host: Host, others?: OtherAttachments): Promise<void>;
  /** Makes the machine read the size of the connected device again; the new size may appear a little later. */
  rescan?(attachment: AttachmentOf<P>, host: Host): Promise<void>;
  /** True if the block device with this number is this volume's now, by the device's own identity. */
  owns(attachment: AttachmentOf<P>, number: string, host: Host): Promise<boolean>;
  /**
   * Removes the device of a recorded connection, even if the device identifies itself differently by now. Present for
   * protocols where a device's identity can change; their connections are recorded.
   */
  release?(connection: Connection, host: Host): Promise<void>;
  /**
   * Lets the kernel remove the device of a recorded connection with its last user; the device may still be in use. Present if
   * the kernel can do so. If the device stays nevertheless, `disconnect` removes it.
   */
  releaseAfterUse?(connection: Connection, host: Host): Promise<void>;
  /**
   * Learns after a start of the agent that an earlier process proved the device of this connection to be the volume's, which
   * saves proving it again. Present if the proof costs commands.
   */
  recall?(attachment: AttachmentOf<P>, connection: Connection, host: Host): Promise<void>;
  /** True if the device with this number is a leftover of this volume, by the device's own identity. */
  isLeftover?(attachment: AttachmentOf<P>, number: string, host: Host): Promise<boolean>;
}

export type OtherAttachments = () => readonly Attachment[];

/** Mounts volumes as directories of a server. The mount is the volume's only trace on the node. */
export interface ShareConnector<P extends Protocol> {
  readonly kind: 'share';
  /** The server may map root to another user without access to the directory. */
  readonly maySquashRoot?: true;
  /**
   * Checks the prerequisites of the mount and describes it; changes nothing that would have to be undone. A connector that
   * uses `secrets` refuses unknown ones; other connectors ignore them.
   */
  connect(attachment: AttachmentOf<P>, host: Host, secrets?: Secrets): Promise<Share>;
  /** Judges by mountinfo alone whether a mount shows this volume, something else, or the volume's removed directory. */
  judge(attachment: AttachmentOf<P>, mount: Mount, host: Host): Promise<Judgement>;
}

/** The content of a mount: the volume, something else, or a leftover of a missing device or directory. */
export type Judgement = 'own' | 'foreign' | 'stale';

export type Share = {
  readonly source: string;
  /** The filesystem type, if `mount` needs it. */
  readonly type?: string;
  /** Default options; a mount flag of the same name replaces one. */
  readonly options: readonly string[];
  /** The command that runs `mount`, if `mount` needs more than arguments. */
  readonly through?: InputCommand;
};

/** A command and its standard input; the command line of `mount` is appended to its arguments. */
export type InputCommand = {
  readonly command: string;
  readonly args: readonly string[];
  readonly input: string;
};

/** A block device on this machine. */
export type Device = {
  readonly path: string;
  /** `major:minor`, as mountinfo shows it. */
  readonly number: string;
  readonly sizeBytes: number;
  /** The kernel refuses every write to the device. */
  readonly readonly: boolean;
  /** The device's own identity: the same each time that this volume is connected, and unique to the volume. */
  readonly identity: string;
  /** The sequence number that kernels since 5.15 give each new device; read when the volume is connected. */
  readonly diskseq?: string | undefined;
  /** The number of the encrypted device below this one, for an encrypted volume. */
  readonly below?: string | undefined;
};

/** One connection of a volume: a device, and in `use` an identifier of the device that is unique across reboots. */
export type Connection = Pick<Device, 'path' | 'number'> & { readonly use: string };

/** Runs `connect`; after a final error runs `undo`, ignores its failure, and throws the error of `connect`. */
export async function undoRefused<T>(connect: () => Promise<T>, undo: () => Promise<unknown>): Promise<T> {
  try {
    return await connect();
  } catch (error) {
    if (problemTable[asProblem(error).code].final) await undo().catch(() => {});
    throw error;
  }
}

/**
 * The secrets of one call by key (CSI `secrets`). They are never recorded, logged, or part of an error, and never arguments of
 * a command, since every user of a machine can read those.
 */
export type Secrets = Readonly<Record<string, string>>;

/** The allowed keys, each with the other keys that it requires. */
export type SecretKeys = Readonly<Record<string, readonly string[]>>;

/** INVALID_ARGUMENT for a key that is unknown, empty, or lacks a required other key. The message never contains a value. */
export function requireKnownSecrets(secrets: Secrets, known: SecretKeys): void {
  for (const [key, value] of Object.entries(secrets)) {
    if (!Object.hasOwn(known, key))
      throw secretProblem(key, `is unknown; use ${Object.keys(known).join(', ')}`);
    if (value === '') throw secretProblem(key, 'is empty');
    const missing = known[key]?.find(other => secrets[other] === undefined);
    if (missing !== undefined) throw secretProblem(key, `is given without "${missing}"; add that one`);
  }
}

/** INVALID_ARGUMENT that names the secret by its key; `fault` must not contain its value. */
export function secretProblem(key: string, fault: string): Problem {
  return invalidProblem(`secret "${key}" ${fault}`);
}
