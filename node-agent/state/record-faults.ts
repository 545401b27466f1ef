import { normalize } from 'node:path/posix';
import {
  fromPublishContext,
  isDroppedProtocol,
  toPublishContext,
  type Attachment,
} from '../../src/api/attachment.ts';
import { asProblem } from '../../src/api/problem.ts';

/** True if a member of a record may have the value. */
export type Check = (value: unknown) => boolean;

const isText: Check = value => typeof value === 'string' && value !== '';
const isBytes: Check = value => Number.isSafeInteger(value) && Number(value) >= 0;
const isFlag: Check = value => typeof value === 'boolean';
const isTrue: Check = value => value === true;
/** A normalized absolute path, as the kernel shows it, except `/`, where no volume can be. */
const isPath: Check = value =>
  typeof value === 'string' && /^\/.*[^/]$/s.test(value) && normalize(value) === value;
const like =
  (pattern: RegExp): Check =>
  value =>
    typeof value === 'string' && pattern.test(value);
const optional =
  (check: Check): Check =>
  value =>
    value === undefined || check(value);
const listOf =
  (check: Check): Check =>
  value =>
    Array.isArray(value) && value.every(check);
const objectOf =
  (members: Readonly<Record<string, Check>>): Check =>
  value =>
    isObject(value) && findWrong(value, members) === undefined;

const accessMode =
  /^(SINGLE_NODE_((SINGLE_|MULTI_)?WRITER|READER_ONLY)|MULTI_NODE_((SINGLE|MULTI)_WRITER|READER_ONLY))$/;

const connection = objectOf({ path: isPath, number: like(/^\d+:\d+$/), use: isText });

export const recordMembers = {
  volumeId: isText,
  attachment: isObject,
  stagingPath: isPath,
  capability: objectOf({
    accessType: like(/^(mount|block)$/),
    accessMode: like(accessMode),
    fsType: optional(isText),
    mountFlags: optional(listOf(isText)),
  }),
  targets: listOf(objectOf({ path: isPath, readonly: isFlag, view: optional(connection) })),
  formatOptions: optional(value => isObject(value) && Object.values(value).every(isText)),
  device: optional(
    objectOf({
      path: isPath,
      number: like(/^\d+:\d+$/),
      sizeBytes: isBytes,
      readonly: isFlag,
      identity: isText,
      diskseq: optional(isText),
      below: optional(like(/^\d+:\d+$/)),
    }),
  ),
  connection: optional(connection),
  formatting: optional(objectOf({ attachmentId: isText, identity: isText, sizeBytes: isBytes })),
  isDown: optional(isTrue),
  isUnfinished: optional(isTrue),
} as const;

/** Describes the fault of a parsed record file, which may hold any value; undefined for a valid record. */
export function findRecordFault(
  record: unknown,
  members: Readonly<Record<string, Check>>,
): string | undefined {
  if (!isObject(record)) return 'it is not a record';
  const wrong = findWrong(record, members);
  if (wrong !== undefined) return `its ${wrong} is invalid`;
  return findAttachmentFault(record['attachment'] as Attachment);
}

/** Checks a recorded attachment by parsing it like an attachment of a call, so that the same rules hold for both. */
function findAttachmentFault(attachment: Attachment): string | undefined {
  const { protocol } = attachment;
  if (isDroppedProtocol(protocol))
    return `its protocol ${protocol} is no longer offered: drain and reboot the node, then delete the file`;
  try {
    const read = Object.entries(fromPublishContext(toPublishContext(attachment)));
    const kept: Readonly<Record<string, unknown>> = attachment;
    const isSame = read.every(([key, value]) => JSON.stringify(value) === JSON.stringify(kept[key]));
    return isSame ? undefined : 'its attachment is invalid';
  } catch (error) {
    return `its attachment: ${asProblem(error).detail}`;
  }
}

/** Returns the name of the first member that is unknown, missing or invalid. */
function findWrong(value: object, checks: Readonly<Record<string, Check>>): string | undefined {
  const found: Readonly<Record<string, unknown>> = { ...value };
  const unknown = Object.keys(found).find(name => !Object.hasOwn(checks, name));
  return unknown ?? Object.keys(checks).find(name => checks[name]?.(found[name]) !== true);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
