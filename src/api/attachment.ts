import { Problem } from './problem.ts';
import { mapByteLength, maxMapBytes } from './ids.ts';

/** How a node reaches a volume, by attach protocol: its fields and their kinds. None of it is secret: that is `sealed`. */
export const attachmentFields = {
  /** A file on the node itself, used through a loop device. */
  loop: { path: 'path' },
  /** A directory on the node itself. */
  bind: { path: 'path' },
  /** A directory that an NFS server exports, by its path there. */
  nfs: { server: 'text', path: 'path' },
  /** An export of an NBD server. */
  nbd: { server: 'host', port: 'port', export: 'text' },
  /** A logical unit of an iSCSI target; at least one of `wwid` (sysfs) and `serial` (VPD page 0x80). */
  iscsi: { portals: 'addresses', target: 'text', lun: 'lun', wwid: 'text?', serial: 'text?' },
  /**
   * A namespace of an NVMe subsystem over TCP; `wwid` is its UUID, NGUID or EUI-64 as `uuid.…` or `eui.…`. The node calls
   * itself `hostNqn`, with `hostId`, a UUID, where they are given.
   */
  'nvme-tcp': {
    addresses: 'addresses',
    subsystem: 'text',
    wwid: 'text',
    hostNqn: 'identity?',
    hostId: 'identity?',
  },
  /** An image of a Ceph cluster, as its cluster and its pool call it, for one user of CephX; `mode` is that of its messenger. */
  rbd: {
    monitors: 'addresses',
    mode: 'text',
    fsid: 'text',
    pool: 'text',
    namespace: 'text',
    image: 'text',
    imageId: 'text',
    user: 'text',
  },
  /** A directory of a Ceph cluster's filesystem, likewise. */
  cephfs: { monitors: 'addresses', mode: 'text', filesystem: 'text', path: 'path', user: 'text' },
  /** A disk that the cloud plugs into the node by itself. What it says of itself, at least one: as for `iscsi`. */
  device: { wwid: 'text?', serial: 'text?' },
} as const satisfies Record<string, Record<string, FieldKind>>;

/** What every attachment carries, whatever its protocol. */
export const commonAttachmentFields = {
  /** Differs for each time that the volume is attached to the node. */
  attachmentId: 'text',
  /** The volume's size in bytes at the time of attaching. */
  sizeBytes: 'bytes',
  /** The node must not write. */
  readonly: 'flag',
  /** False when the volume is known to hold data (a clone, a restore): a node must never format it then. */
  mayFormat: 'flag',
  /** How the node encrypts what the volume holds; absent: not at all. */
  encryption: 'encryption?',
  /** What is secret of it, for that node alone: a JWE in its compact form. */
  sealed: 'text?',
  /** By which the node knows that its gateway made it so: a JWS in its compact form, without its content. */
  signature: 'text?',
} as const satisfies Record<string, FieldKind>;

const anyText = { pattern: /[\s\S]/, fault: 'no text' };

/**
 * What a field of each kind may hold, and what is said of anything else; `text?` may be absent, and so may `identity?`,
 * which is of the node and says nothing of the volume.
 */
export const fieldKinds = {
  text: anyText,
  'text?': anyText,
  'encryption?': { pattern: /^luks$/, fault: 'not "luks"' },
  'identity?': { pattern: /^[A-Za-z0-9.:_-]{1,223}$/, fault: 'no name of a node' },
  path: { pattern: /^\/[^\0]*$/, fault: 'no absolute path' },
  host: {
    pattern: /^([A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,40})$/,
    fault: 'neither a host name nor an address',
  },
  addresses: {
    pattern: /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,40}\]):[1-9]\d{0,4}$/,
    most: 16,
    fault: 'no list of 1 to 16 different addresses with ports',
  },
  port: { least: 1, most: 65_535, fault: 'no port' },
  lun: { least: 0, most: 16_383, fault: 'no number from 0 to 16383' },
  bytes: { least: 0, most: Number.MAX_SAFE_INTEGER, fault: 'not a number of bytes' },
  flag: { fault: 'neither true nor false' },
} as const;

/** A kind of field. */
export type FieldKind = keyof typeof fieldKinds;
type FieldType = Record<'text' | 'text?' | 'identity?' | 'path' | 'host', string> & {
  'encryption?': 'luks';
} & Record<'port' | 'lun' | 'bytes', number> & { addresses: readonly string[]; flag: boolean };
type Fields = Readonly<Record<string, FieldKind>>;
type OptionalKeys<T extends Fields> = { [K in keyof T]: T[K] extends `${string}?` ? K : never }[keyof T];
type FieldsOf<T extends Fields> = {
  readonly [K in Exclude<keyof T, OptionalKeys<T>>]: FieldType[T[K]];
} & { readonly [K in OptionalKeys<T>]?: FieldType[T[K]] | undefined };

/** The name of an attach protocol. */
export type Protocol = keyof typeof attachmentFields;

/** The names of all attach protocols. */
export const protocols = Object.keys(attachmentFields) as readonly Protocol[];

type ReachOf<P extends Protocol> = { readonly protocol: P } & FieldsOf<(typeof attachmentFields)[P]>;

/** How a node reaches a volume over protocol `P`. */
export type AttachmentOf<P extends Protocol> = ReachOf<P> & FieldsOf<typeof commonAttachmentFields>;

/** How a node reaches a volume: a union over all protocols, distinguished by `protocol`. */
export type Attachment = { [P in Protocol]: AttachmentOf<P> }[Protocol];

/** What a backend decides of an attachment; the gateway adds the rest. `mayFormat`: the volume holds data already. */
export type Reach = { [P in Protocol]: ReachOf<P> }[Protocol] & {
  readonly mayFormat?: false;
  /** What another gateway sealed to the node before. */
  readonly sealed?: string;
} & Unsealed;

/**
 * What the node needs and nobody else may learn, by the names of its connector's own secrets. The gateway seals it to the
 * node; nothing else ever gets or keeps it.
 */
export type Unsealed = { readonly secrets?: Readonly<Record<string, string>> };

/** The attachment as the CSI publish_context: flat strings, at most 4 KiB (CSI spec, "Size Limits"), and none of it secret. */
export function toPublishContext(attachment: Attachment & Unsealed): Record<string, string> {
  if (attachment.secrets) throw new Problem('UNAVAILABLE', 'the attachment has secrets that are not sealed');
  const entries = Object.entries(attachment).filter(([, value]) => value !== undefined);
  const context = Object.fromEntries(entries.map(([key, value]) => [key, String(value)]));
  const size = mapByteLength(context);
  if (size <= maxMapBytes) return context;
  const detail = `the attachment has ${size} bytes, more than the ${maxMapBytes} of a publish context`;
  throw new Problem('UNAVAILABLE', detail);
}

/** What a signature of a publish_context is over: every member but the signature itself, in one order. */
export function signedText(context: Readonly<Record<string, string>>): string {
  const members = Object.entries(context).filter(([key]) => key !== 'signature');
  return JSON.stringify(members.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** What a signature's header says beside `alg` and `kid`, so that a node can say what an attachment was signed for. */
export type SignatureHeader = { readonly volume: string; readonly node: string };

/** Reads an attachment out of a publish_context; INVALID_ARGUMENT names what is missing, malformed or unknown. */
export function fromPublishContext(context: Readonly<Record<string, string>>): Attachment {
  const { protocol, ...rest } = context;
  if (protocol === undefined) throw invalidProblem('has no protocol');
  if (!isProtocol(protocol)) throw invalidProblem(`has the unknown protocol "${protocol}"`);
  const kinds: Fields = { ...commonAttachmentFields, ...attachmentFields[protocol] };
  const unknown = Object.keys(rest).filter(key => !Object.hasOwn(kinds, key));
  if (unknown.length > 0)
    throw invalidProblem(`has the unknown fields ${unknown.map(key => `"${key}"`).join(', ')}`);
  const fields = Object.entries(kinds)
    .filter(([key, kind]) => !(kind.endsWith('?') && rest[key] === undefined))
    .map(([key, kind]) => [key, readField(key, kind, rest[key])]);
  return { protocol, ...Object.fromEntries(fields) } as Attachment;
}

/** True when both lead to the same volume, though by other servers' addresses. */
export function isSameReach(one: Attachment, other: Attachment): boolean {
  if (one.protocol !== other.protocol) return false;
  const kinds: Fields = attachmentFields[one.protocol];
  const [a, b]: readonly Readonly<Record<string, unknown>>[] = [one, other];
  const told = Object.entries(kinds).filter(([, kind]) => kind !== 'addresses' && kind !== 'identity?');
  return told.every(([key]) => a?.[key] === b?.[key]);
}

/** True when a device that is reached so may have other names too, so that only the device itself says which it is. */
export function hasSeveralNames({ protocol }: Attachment): boolean {
  return Object.values<FieldKind>(attachmentFields[protocol]).includes('text?');
}

function isProtocol(value: string): value is Protocol {
  return Object.hasOwn(attachmentFields, value);
}

function readField(key: string, kind: FieldKind, text: string | undefined): FieldType[FieldKind] {
  if (!text) throw invalidProblem(`has no ${key}`);
  const value = parseField(kind, text);
  if (value !== undefined) return value;
  throw invalidProblem(`has a ${key} of ${JSON.stringify(text)}, which is ${fieldKinds[kind].fault}`);
}

function parseField(kind: FieldKind, text: string): FieldType[FieldKind] | undefined {
  if (kind === 'flag') return text === 'true' || (text === 'false' ? false : undefined);
  if (kind === 'addresses') return areAddresses(text.split(',')) ? text.split(',') : undefined;
  const rule = fieldKinds[kind];
  if ('pattern' in rule) return rule.pattern.test(text) ? text : undefined;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return number >= rule.least && number <= rule.most ? number : undefined;
}

/** True for 1 to 16 different addresses with ports. */
export function areAddresses(values: readonly string[]): boolean {
  const { pattern, most } = fieldKinds.addresses;
  const isAddress = (value: string): boolean =>
    pattern.test(value) && Number(value.slice(value.lastIndexOf(':') + 1)) <= fieldKinds.port.most;
  const different = new Set(values).size;
  return different > 0 && different <= most && different === values.length && values.every(isAddress);
}

function invalidProblem(found: string): Problem {
  return new Problem('INVALID_ARGUMENT', `the publish context ${found}`);
}
