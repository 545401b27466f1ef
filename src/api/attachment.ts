import { canonicalAddress } from './attachments/addresses.ts';
import type { IoLimits } from './attachments/io-limits.ts';
import { turnCount } from './attachments/trim-turns.ts';
import { Problem } from './problem.ts';
import { mapByteLength, maxMapBytes } from './ids.ts';

/** The fields and their kinds of a node's access to a volume, by attach protocol. Secrets are not here but in `sealed`. */
export const attachmentFields = {
  /** A file on the node itself, used through a loop device; `pool` is the file's pool at the gateway. */
  loop: { path: 'path', pool: 'identity?' },
  /** A directory on the node itself; `pool` is the directory's pool at the gateway. */
  bind: { path: 'path', pool: 'identity?' },
  /** A directory that an NFS server exports, by its path there. */
  nfs: { server: 'text', path: 'path' },
  /**
   * A logical unit of an iSCSI target; at least one of `wwid` (sysfs) and `serial` (VPD page 0x80). If given, `initiator`
   * is the name (an IQN) that the node uses to log in.
   */
  iscsi: {
    portals: 'addresses',
    target: 'text',
    lun: 'lun',
    wwid: 'text?',
    serial: 'text?',
    initiator: 'identity?',
  },
  /**
   * A namespace of an NVMe subsystem over TCP; `wwid` is its UUID, NGUID or EUI-64 as `uuid.…` or `eui.…`. If given,
   * `hostNqn` and `hostId` (a UUID) are the names that the node uses to connect.
   */
  'nvme-tcp': {
    addresses: 'addresses',
    subsystem: 'text',
    wwid: 'text',
    hostNqn: 'identity?',
    hostId: 'identity?',
  },
  /**
   * An image of a Ceph cluster for one CephX user; `mode` is the mode of Ceph's messenger. Without `namespace` it is in the
   * pool's default namespace.
   */
  rbd: {
    monitors: 'addresses',
    mode: 'text',
    fsid: 'text',
    pool: 'text',
    namespace: 'identity?',
    image: 'text',
    imageId: 'text',
    user: 'text',
  },
  /** A directory of a CephFS for one CephX user; `mode` is the mode of Ceph's messenger. */
  cephfs: { monitors: 'addresses', mode: 'text', filesystem: 'text', path: 'path', user: 'text' },
  /** A disk that the cloud plugs into the node; at least one of `wwid` (sysfs) and `serial` (VPD page 0x80). */
  device: { wwid: 'text?', serial: 'text?' },
  /** A volume of an existing CSI driver, whose node plugin runs on the node and knows the node as `driverNodeId`. */
  csi: { driver: 'text', handle: 'text', driverNodeId: 'text' },
} as const satisfies Record<string, Record<string, FieldKind>>;

export const commonAttachmentFields = {
  /** An id that is new each time that the volume is attached to the node. */
  attachmentId: 'text',
  /** The volume's size in bytes at the time of attaching. */
  sizeBytes: 'bytes',
  /** The node must not write. */
  readonly: 'flag',
  /** False if the volume is known to hold data (a clone, a restore), so that a node must never format it. */
  mayFormat: 'flag',
  /**
   * True on a read-only attachment whose device the node may write once, to replay the journal of a filesystem that was
   * not unmounted cleanly: no other node has the volume, and the storage takes writes. Absent: the node writes nothing.
   */
  mayReplay: 'flag?',
  /** The maximum of the reads of a pod each second, and likewise of its writes; absent: none. The node enforces it. */
  iops: 'limit?',
  /** The maximum of bytes that a pod reads each second, and likewise writes; absent: none. The node enforces it. */
  bytesPerSecond: 'limit?',
  /** The volume's turn among the trimmed volumes of its pool; absent: the node does not trim it. */
  trimTurn: 'turn?',
  /** The encryption of the volume by the node; absent: none. */
  encryption: 'encryption?',
  /** The secrets of the attachment, readable for this node only: a JWE in compact form. */
  sealed: 'text?',
  /** The gateway's signature of the attachment: a JWS in compact form, without its content. */
  signature: 'text?',
} as const satisfies Record<string, FieldKind>;

const maxPort = 65_535;
const anyText = { pattern: /[\s\S]/, fault: 'no text' };

/**
 * The allowed values of each kind of field, and the message about other values. A kind that ends in `?` may be absent.
 * `identity?` names a node or a pool and does not distinguish volumes.
 */
export const fieldKinds = {
  text: anyText,
  'text?': anyText,
  'encryption?': { pattern: /^luks$/, fault: 'not "luks"' },
  'identity?': { pattern: /^[A-Za-z0-9.:_-]{1,223}$/, fault: 'no name of a node or a pool' },
  path: { pattern: /^\/[^\0]*$/, fault: 'no absolute path' },
  addresses: {
    pattern: /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,40}\]):[1-9]\d{0,4}$/,
    max: 16,
    fault: 'no list of 1 to 16 different addresses with ports',
  },
  lun: { min: 0, max: 16_383, fault: 'no number from 0 to 16383' },
  bytes: { min: 0, max: Number.MAX_SAFE_INTEGER, fault: 'not a number of bytes' },
  'limit?': { min: 1, max: Number.MAX_SAFE_INTEGER, fault: 'not a number from 1' },
  'turn?': { min: 0, max: turnCount - 1, fault: `no number from 0 to ${turnCount - 1}` },
  flag: { fault: 'neither true nor false' },
  'flag?': { fault: 'neither true nor false' },
} as const;

export type FieldKind = keyof typeof fieldKinds;
type FieldType = Record<'text' | 'text?' | 'identity?' | 'path', string> & {
  'encryption?': 'luks';
  'flag?': boolean;
  'limit?': number;
  'turn?': number;
} & Record<'lun' | 'bytes', number> & { addresses: readonly string[]; flag: boolean };
type Fields = Readonly<Record<string, FieldKind>>;
type OptionalKeys<T extends Fields> = { [K in keyof T]: T[K] extends `${string}?` ? K : never }[keyof T];
type FieldsOf<T extends Fields> = {
  readonly [K in Exclude<keyof T, OptionalKeys<T>>]: FieldType[T[K]];
} & { readonly [K in OptionalKeys<T>]?: FieldType[T[K]] | undefined };

export type Protocol = keyof typeof attachmentFields;

/** True for an attach protocol of earlier releases, which stores, records and settings may still name. */
export function isDroppedProtocol(protocol: string): boolean {
  return protocol === 'nbd';
}

export const protocols = Object.keys(attachmentFields) as readonly Protocol[];

type ReachOf<P extends Protocol> = { readonly protocol: P } & FieldsOf<(typeof attachmentFields)[P]>;

export type AttachmentOf<P extends Protocol> = ReachOf<P> & FieldsOf<typeof commonAttachmentFields>;

/** A node's access to a volume: a union over all protocols, distinguished by `protocol`. */
export type Attachment = { [P in Protocol]: AttachmentOf<P> }[Protocol];

/** The part of an attachment that a backend decides; the gateway adds the rest. */
export type Reach = { [P in Protocol]: ReachOf<P> }[Protocol] & {
  /** The volume holds data already. */
  readonly mayFormat?: false;
  /** The storage accepts writes of the node, although the node is a reader. Set only if `NodeAccess` sets it too. */
  readonly mayReplay?: true;
  /** The seal of another gateway for the node. */
  readonly sealed?: string;
  /** The storage enforces `NodeAccess.limits`. Without it the node enforces the reach's own limits. */
  readonly limitsIo?: true;
} & IoLimits &
  UnsealedSecrets;

/** The secrets for the node, by the names that its connector uses. The gateway seals them and never keeps or shows them. */
export type UnsealedSecrets = { readonly secrets?: Readonly<Record<string, string>> };

/** Makes the CSI publish_context of an attachment: flat strings, at most 4 KiB (CSI spec, "Size Limits"), without secrets. */
export function toPublishContext(attachment: Attachment & UnsealedSecrets): Record<string, string> {
  if (attachment.secrets) throw new Problem('UNAVAILABLE', 'the attachment has secrets that are not sealed');
  const context = toTexts(attachment);
  const size = mapByteLength(context);
  if (size <= maxMapBytes) return context;
  const detail = `the attachment has ${size} bytes, more than the ${maxMapBytes} of a publish context`;
  throw new Problem('UNAVAILABLE', detail);
}

/** Returns the signed text of a publish_context: all members except the signature, in a fixed order. */
export function signedText(context: Readonly<Record<string, string>>): string {
  const members = Object.entries(context).filter(([key]) => key !== 'signature');
  return JSON.stringify(members.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The members of a signature's header besides `alg` and `kid`: the volume and the node that it was made for. */
export type SignatureHeader = { readonly volume: string; readonly node: string };

/**
 * The members of a seal's protected header: the purpose of the seal. All except `use` are digests, so that the longest ids fit
 * into a publish_context.
 */
export type SealHeader = Readonly<Record<'volume' | 'node' | 'attachment' | 'reach' | 'use', string>>;

/** Computes a seal's header from the members of the publish_context that no later call changes. */
export async function sealHeaderOf(
  { volume, node }: SignatureHeader,
  attachment: Readonly<Record<string, unknown>>,
): Promise<SealHeader> {
  const context = toTexts(attachment);
  const { protocol = '', attachmentId = '', readonly, mayReplay, encryption } = context;
  const reachKeys = ['protocol', ...Object.keys(isProtocol(protocol) ? attachmentFields[protocol] : {})];
  const reach = reachKeys.flatMap(key => (context[key] === undefined ? [] : [[key, context[key]] as const]));
  const texts = { volume, node, attachment: attachmentId, reach: signedText(Object.fromEntries(reach)) };
  const digests = Object.entries(texts).map(async ([name, text]) => [name, await digestOf(text)] as const);
  const writes = readonly === 'true' ? 'read-only' : 'read-write';
  const use = [writes, mayReplay === 'true' ? 'replay' : [], encryption ?? []].flat().join(' ');
  return { ...Object.fromEntries(await Promise.all(digests)), use } as SealHeader;
}

/** Computes the first 128 bits of a SHA-256, in base64url. */
async function digestOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Buffer.from(bytes, 0, 16).toString('base64url');
}

function toTexts(members: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([key, value]) => [key, String(value)]));
}

/** Parses a publish_context; INVALID_ARGUMENT names a missing, malformed or unknown member. */
export function fromPublishContext(context: Readonly<Record<string, string>>): Attachment {
  const { protocol, ...rest } = context;
  if (protocol === undefined) throw invalidProblem('has no protocol');
  if (isDroppedProtocol(protocol))
    throw invalidProblem(
      `has the protocol "${protocol}", which is no longer offered: detach the volume and attach it again`,
    );
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

/** True if both lead to the same volume, even by different addresses of its servers. */
export function isSameReach(one: Attachment, other: Attachment): boolean {
  if (one.protocol !== other.protocol) return false;
  const kinds: Fields = attachmentFields[one.protocol];
  const [a, b]: readonly Readonly<Record<string, unknown>>[] = [one, other];
  // A stage compares its attachment with those of all volumes of the node.
  return Object.entries(kinds).every(
    ([key, kind]) => a?.[key] === b?.[key] || kind === 'addresses' || kind === 'identity?',
  );
}

/** True if other attachments may name the same device differently, so that only the device itself tells its identity. */
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
  if (kind === 'flag' || kind === 'flag?') return text === 'true' || (text === 'false' ? false : undefined);
  if (kind === 'addresses') return areAddresses(text.split(',')) ? text.split(',') : undefined;
  const rule = fieldKinds[kind];
  if ('pattern' in rule) return rule.pattern.test(text) ? text : undefined;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return number >= rule.min && number <= rule.max ? number : undefined;
}

/** True for 1 to 16 different addresses with ports; two spellings of an address count as the same. */
export function areAddresses(values: readonly string[]): boolean {
  const { pattern, max } = fieldKinds.addresses;
  const isAddress = (value: string): boolean =>
    pattern.test(value) && Number(value.slice(value.lastIndexOf(':') + 1)) <= maxPort;
  const different = new Set(values.map(canonicalAddress)).size;
  return different > 0 && different <= max && different === values.length && values.every(isAddress);
}

function invalidProblem(found: string): Problem {
  return new Problem('INVALID_ARGUMENT', `the publish context ${found}`);
}
