import { must, should, type Requirement } from './requirement.ts';

/** The requirements of chapter 1. */
export const transport = {
  'FL-1.1-1': must(
    "An answer's body is JSON that matches the operation's schema, with the content type `application/json`.",
  ),
  'FL-1.1-2': must(
    'An answer has a status that the operation documents: 200, 201, 202 or 204, or the status of a problem.',
  ),
  'FL-1.1-3': must('An answer repeats the ids in the path and the `name` in the request.'),
  'FL-1.1-4': must('An id has up to 128 bytes of `A-Za-z0-9._-`, and upper and lower case are different.'),
  'FL-1.2-1': must(
    'An error is a problem document (`application/problem+json`) with a `code` from the table of errors and the HTTP status of that code.',
  ),
  'FL-1.2-2': must('An unknown path answers NOT_FOUND as a problem document, never as a page of HTML.'),
  'FL-1.2-3': must(
    'A body that is not JSON, or does not match the schema, is INVALID_ARGUMENT and changes nothing.',
  ),
  'FL-1.2-4': must('A body with a member that is not in the schema is INVALID_ARGUMENT.'),
  'FL-1.2-5': must('An operation of a feature that is not offered answers UNIMPLEMENTED.'),
  'FL-1.2-6': must('An error has a code that the operation documents.'),
  'FL-1.2-7': should('The `detail` of a problem names the resource and the fault, in plain words.'),
  'FL-1.3-1': must(
    'Work that was answered with 202 ends: the repeated request answers 200, 201, 204 or a problem in time.',
  ),
  'FL-1.3-2': must(
    'The answers 200 and 201 mean that the work is done: the resource then reads as `ready` or `attached`, with the size of the answer.',
  ),
  'FL-1.3-3': should(
    'The answer 202 has `Retry-After` in whole seconds; its body, if there is one, is the resource in its present state.',
  ),
  'FL-1.4-1': must(
    'A request is read completely, with a content length or in chunks, and in pieces of any size.',
  ),
  'FL-1.4-2': must(
    'Every request on a shared connection is answered as it would be on its own, even after a refused one.',
  ),
  'FL-1.4-3': must('Percent-encoding in the path is decoded: an escaped id is the same id.'),
} satisfies Readonly<Record<string, Requirement>>;

/** The requirements of chapter 2. */
export const authentication = {
  'FL-2.1-1': must(
    'A request without credentials is UNAUTHENTICATED, on every operation, and changes nothing.',
  ),
  'FL-2.1-2': must('Malformed credentials, or credentials of another scheme, are UNAUTHENTICATED.'),
  'FL-2.1-3': must('A token that the key named by its `kid` has not signed is UNAUTHENTICATED.'),
  'FL-2.1-4': must('A token with `alg` `none`, or without a signature, is UNAUTHENTICATED.'),
  'FL-2.1-5': must('A token that has expired is UNAUTHENTICATED.'),
  'FL-2.1-6': must('A token for another audience is UNAUTHENTICATED.'),
  'FL-2.1-7': must('A token without `exp` is UNAUTHENTICATED.'),
  'FL-2.1-8': must('No answer repeats the credentials of the request.'),
  'FL-2.2-1': must('With mutual TLS, a connection without a trusted client certificate is refused.'),
} satisfies Readonly<Record<string, Requirement>>;

/** The requirements of chapter 6. */
export const lists = {
  'FL-6.1-1': must('A list has every resource once, sorted by the bytes of the ids.'),
  'FL-6.1-2': must("A page has at most `limit` entries; 0 or no limit means the server's own page size."),
  'FL-6.1-3': must(
    'Pages of any size together make up the whole list, and the last page has no `nextPageToken`.',
  ),
  'FL-6.1-4': must('A page token that the server did not issue for the list is ABORTED.'),
  'FL-6.1-5': must('A limit that is negative or not a whole number is INVALID_ARGUMENT.'),
  'FL-6.1-6': must(
    'With `volumeId` the list has only the snapshots of that volume, and is empty for a volume that does not exist.',
    'snapshots',
  ),
  'FL-6.2-1': must(
    'A resource that exists while all pages are read is in them once, even if others are created and deleted meanwhile.',
  ),
} satisfies Readonly<Record<string, Requirement>>;

/** The requirements of chapter 7. */
export const capacity = {
  'FL-7.1-1': must('The capabilities are the same in every answer, until the vendor changes its offer.'),
  'FL-7.1-2': must(
    'The capabilities name at least one access mode and one access type, and with each feature the features that it needs.',
  ),
  'FL-7.1-3': must(
    'A schema of parameters is a JSON Schema of at most 64 KiB with only the keywords named above, and parameters that match it are accepted.',
  ),
  'FL-7.2-1': must(
    'Every size is a multiple of `stepBytes`, from `minimumVolumeBytes` to `maximumVolumeBytes`, as far as the capabilities name these.',
  ),
  'FL-7.2-2': must(
    'A size below the minimum is raised to it, or is OUT_OF_RANGE if `limitBytes` forbids that; a size above the maximum is OUT_OF_RANGE or RESOURCE_EXHAUSTED.',
  ),
  'FL-7.3-1': must(
    '`availableBytes` is a whole number, and the limits of volume sizes lie within those of the capabilities.',
    'capacity',
  ),
  'FL-7.3-2': must(
    'A volume larger than `availableBytes` is created in full, or is RESOURCE_EXHAUSTED or OUT_OF_RANGE and leaves nothing.',
    'capacity',
  ),
  'FL-7.3-3': must(
    'Deleting a volume gives all its bytes back, and a refused create request takes none.',
    'capacity',
  ),
  'FL-7.3-4': should(
    'Creating a volume takes its bytes from `availableBytes` once, even if the request is repeated.',
    'capacity',
  ),
} satisfies Readonly<Record<string, Requirement>>;
