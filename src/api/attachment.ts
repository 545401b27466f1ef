import { Problem } from './problem.ts';

/**
 * How a node reaches a volume: one entry per attach protocol, with its fields and their kinds. The union's types,
 * its schema and the way through publish_context all come from this table. None of it is secret (CSI spec,
 * "ControllerPublishVolume").
 */
export const attachmentFields = {
  /** A file on the node itself, used through a loop device. */
  loop: { path: 'path' },
  /** A directory on the node itself. */
  bind: { path: 'path' },
  /** A directory that an NFS server exports, by its path there. */
  nfs: { server: 'text', path: 'path' },
  /** An export of an NBD server. */
  nbd: { server: 'host', port: 'port', export: 'text' },
  /**
   * A logical unit of an iSCSI target. `wwid` and `serial` are what the disk says of itself: its `wwid` in sysfs, such
   * as `naa.6001405…`, and its unit serial number (VPD page 0x80). At least one is given.
   */
  iscsi: { portals: 'addresses', target: 'text', lun: 'lun', wwid: 'text?', serial: 'text?' },
  /** A namespace of an NVMe subsystem over TCP; `wwid` is its UUID, NGUID or EUI-64 as `uuid.…` or `eui.…`. */
  'nvme-tcp': { addresses: 'addresses', subsystem: 'text', wwid: 'text' },
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
} as const satisfies Record<string, FieldKind>;

/**
 * What a field holds. A `path` is absolute; a `host` is a name or an address; `addresses` are up to 16 different
 * ones with a port, such as `192.0.2.7:3260` or `[2001:db8::7]:3260`; `text?` may be absent.
 */
export type FieldKind = keyof FieldType;
type FieldType = {
  text: string;
  'text?': string;
  path: string;
  host: string;
  port: number;
  lun: number;
  addresses: readonly string[];
  bytes: number;
  flag: boolean;
};
type Fields = Readonly<Record<string, FieldKind>>;
type OptionalKeys<T extends Fields> = { [K in keyof T]: T[K] extends `${string}?` ? K : never }[keyof T];
type FieldsOf<T extends Fields> = {
  readonly [K in Exclude<keyof T, OptionalKeys<T>>]: FieldType[T[K]];
} & { readonly [K in OptionalKeys<T>]?: FieldType[T[K]] | undefined };

/** What the text of some kinds looks like; an address is one of `addresses`. */
export const fieldPatterns = {
  path: /^\/[^\0]*$/,
  host: /^([A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,40})$/,
  address: /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,40}\]):[1-9]\d{0,4}$/,
} as const;

/** The greatest number of some kinds; the least port is 1. */
export const fieldMaxima = { port: 65_535, lun: 16_383, addresses: 16 } as const;

/** The name of an attach protocol. */
export type Protocol = keyof typeof attachmentFields;

/** How a node reaches a volume over protocol `P`. */
export type AttachmentOf<P extends Protocol> = { readonly protocol: P } & FieldsOf<
  (typeof attachmentFields)[P]
> &
  FieldsOf<typeof commonAttachmentFields>;

/** How a node reaches a volume: a union over all protocols, distinguished by `protocol`. */
export type Attachment = { [P in Protocol]: AttachmentOf<P> }[Protocol];

/** What a backend decides of an attachment; the gateway adds the rest. */
export type Reach = {
  [P in Protocol]: { readonly protocol: P } & FieldsOf<(typeof attachmentFields)[P]>;
}[Protocol];

/** True for a protocol of the table. */
function isProtocol(value: unknown): value is Protocol {
  return typeof value === 'string' && Object.hasOwn(attachmentFields, value);
}

/** The attachment as the CSI publish_context: flat strings, at most 4 KiB (CSI spec, "Size Limits"). */
export function toPublishContext(attachment: Attachment): Record<string, string> {
  const entries = Object.entries(attachment).filter(([, value]) => value !== undefined);
  const context = Object.fromEntries(entries.map(([key, value]) => [key, String(value)]));
  const size = Object.entries(context).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  if (size > 4096)
    throw new Problem(
      'UNAVAILABLE',
      `the attachment has ${size} bytes, more than the 4096 of a publish context`,
    );
  return context;
}

/** Reads an attachment out of a publish_context; INVALID_ARGUMENT names what is missing, malformed or unknown. */
export function fromPublishContext(context: Readonly<Record<string, string>>): Attachment {
  const { protocol, ...rest } = context;
  if (!isProtocol(protocol))
    throw invalidProblem(
      protocol === undefined ? 'has no protocol' : `has the unknown protocol "${protocol}"`,
    );
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
  return Object.entries(kinds).every(([key, kind]) => kind === 'addresses' || a?.[key] === b?.[key]);
}

/** True when a device that is reached so may have other names too, so that only the device itself says which it is. */
export function hasSeveralNames({ protocol }: Attachment): boolean {
  return Object.values<FieldKind>(attachmentFields[protocol]).includes('text?');
}

type FieldValue = FieldType[FieldKind];

function readField(key: string, kind: FieldKind, value: string | undefined): FieldValue {
  if (value === undefined || value === '') throw invalidProblem(`has no ${key}`);
  const read = readers[kind](value);
  if (read === undefined)
    throw invalidProblem(`has a ${key} of ${JSON.stringify(value)}, which is ${faults[kind]}`);
  return read;
}

const readers: { readonly [K in FieldKind]: (value: string) => FieldType[K] | undefined } = {
  text: value => value,
  'text?': value => value,
  path: value => (fieldPatterns.path.test(value) ? value : undefined),
  host: value => (fieldPatterns.host.test(value) ? value : undefined),
  port: value => readPort(value),
  lun: value => readNumber(value, fieldMaxima.lun),
  addresses: readAddresses,
  bytes: value => readNumber(value, Number.MAX_SAFE_INTEGER),
  flag: value => (value === 'true' ? true : value === 'false' ? false : undefined),
};

const faults: Readonly<Record<FieldKind, string>> = {
  text: 'no text',
  'text?': 'no text',
  path: 'no absolute path',
  host: 'neither a host name nor an address',
  port: 'no port',
  lun: `no number from 0 to ${fieldMaxima.lun}`,
  addresses: `no list of 1 to ${fieldMaxima.addresses} different addresses with ports`,
  bytes: 'not a number of bytes',
  flag: 'neither true nor false',
};

function readNumber(value: string, maximum: number): number | undefined {
  const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  return Number.isSafeInteger(number) && number <= maximum ? number : undefined;
}

function readPort(value: string): number | undefined {
  return readNumber(value, fieldMaxima.port) || undefined;
}

function readAddresses(value: string): readonly string[] | undefined {
  const all = value.split(',');
  return areAddresses(all) ? all : undefined;
}

/** True for 1 to 16 different addresses with ports. */
export function areAddresses(values: readonly string[]): boolean {
  const isOne = (value: string): boolean =>
    fieldPatterns.address.test(value) && Number(value.slice(value.lastIndexOf(':') + 1)) <= fieldMaxima.port;
  const isCounted = values.length > 0 && values.length <= fieldMaxima.addresses;
  return isCounted && new Set(values).size === values.length && values.every(isOne);
}

function invalidProblem(found: string): Problem {
  return new Problem('INVALID_ARGUMENT', `the publish context ${found}`);
}
