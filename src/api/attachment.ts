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

/** What a field holds; a `path` is absolute. */
export type FieldKind = 'text' | 'path' | 'bytes' | 'flag';
type FieldType = { text: string; path: string; bytes: number; flag: boolean };
type FieldsOf<T extends Record<string, FieldKind>> = { readonly [K in keyof T]: FieldType[T[K]] };

/** The name of an attach protocol. */
export type Protocol = keyof typeof attachmentFields;

/** How a node reaches a volume over protocol `P`. */
export type AttachmentOf<P extends Protocol> = { readonly protocol: P } & FieldsOf<
  (typeof attachmentFields)[P]
> &
  FieldsOf<typeof commonAttachmentFields>;

/** How a node reaches a volume: a union over all protocols, told apart by `protocol`. */
export type Attachment = { [P in Protocol]: AttachmentOf<P> }[Protocol];

/** What a backend decides of an attachment; the gateway adds the rest. */
export type Reach = {
  [P in Protocol]: { readonly protocol: P } & FieldsOf<(typeof attachmentFields)[P]>;
}[Protocol];

/** True for a protocol of the table. */
export function isProtocol(value: unknown): value is Protocol {
  return typeof value === 'string' && Object.hasOwn(attachmentFields, value);
}

/** The attachment as the CSI publish_context: flat strings, at most 4 KiB (CSI spec, "Size Limits"). */
export function toPublishContext(attachment: Attachment): Record<string, string> {
  const context = Object.fromEntries(Object.entries(attachment).map(([key, value]) => [key, String(value)]));
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
    throw invalid(protocol === undefined ? 'has no protocol' : `has the unknown protocol "${protocol}"`);
  const kinds: Record<string, FieldKind> = { ...commonAttachmentFields, ...attachmentFields[protocol] };
  const unknown = Object.keys(rest).filter(key => !Object.hasOwn(kinds, key));
  if (unknown.length > 0)
    throw invalid(`has the unknown fields ${unknown.map(key => `"${key}"`).join(', ')}`);
  const fields = Object.entries(kinds).map(([key, kind]) => [key, readField(key, kind, rest[key])]);
  return { protocol, ...Object.fromEntries(fields) } as Attachment;
}

function readField(key: string, kind: FieldKind, value: string | undefined): string | number | boolean {
  if (value === undefined || value === '') throw invalid(`has no ${key}`);
  if (kind === 'path' && !isAbsolutePath(value))
    throw invalid(`has a ${key} of ${JSON.stringify(value)}, which is no absolute path`);
  if (kind === 'text' || kind === 'path') return value;
  if (kind === 'flag') {
    if (value !== 'true' && value !== 'false')
      throw invalid(`has a ${key} of "${value}", which is neither true nor false`);
    return value === 'true';
  }
  const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number))
    throw invalid(`has a ${key} of "${value}", which is not a number of bytes`);
  return number;
}

/** True for a path that a command can be given as it is. */
function isAbsolutePath(value: string): boolean {
  return value.startsWith('/') && !value.includes('\0');
}

function invalid(found: string): Problem {
  return new Problem('INVALID_ARGUMENT', `the publish context ${found}`);
}
