import { must, should, type Requirement } from './requirement.ts';

/** Chapter 1: transport and errors. */
export const transport = {
  'FL-1.1-1': must(
    'An answer with a body is JSON of the schema that the operation documents, with the content type `application/json`.',
  ),
  'FL-1.1-2': must(
    'An answer has a status that the operation documents: 200, 201, 202 or 204, or that of a problem.',
  ),
  'FL-1.1-3': must(
    'An answer is of what was asked for: its ids are those of the path, its `name` that of the request.',
  ),
  'FL-1.1-4': must(
    'An id has up to 128 bytes of `A-Za-z0-9._-`, and ids that differ in case alone are different.',
  ),
  'FL-1.2-1': must(
    'An error is a problem document, `application/problem+json`, with a `code` of the table of errors and the HTTP status of that code.',
  ),
  'FL-1.2-2': must('What is no operation answers NOT_FOUND as a problem document, never as a page of HTML.'),
  'FL-1.2-3': must(
    'A body that is not JSON, or not of the schema, is INVALID_ARGUMENT, and nothing is changed.',
  ),
  'FL-1.2-4': must('A member of a body that the schema does not have is INVALID_ARGUMENT.'),
  'FL-1.2-5': must('An operation of a feature that is not offered answers UNIMPLEMENTED.'),
  'FL-1.2-6': must('An error has a code that the operation documents.'),
  'FL-1.2-7': should('The `detail` of a problem names, in plain words, what was found.'),
  'FL-1.3-1': must(
    'Work that was answered with 202 ends: the same request, sent again, answers 200, 201 or 204, or a problem, in time.',
  ),
  'FL-1.3-2': must(
    '200 and 201 are answered when the work is done: what is read next is `ready` or `attached`, and of the same size.',
  ),
  'FL-1.3-3': should(
    'An answer of 202 has `Retry-After` in whole seconds, and where it has a body that is the resource as it is.',
  ),
  'FL-1.4-1': must(
    'A request is read whole, whether its body has a length or comes in chunks, and however the network cuts it.',
  ),
  'FL-1.4-2': must(
    'Each of many requests on one connection is answered as it would be alone, also after one that was refused.',
  ),
  'FL-1.4-3': must('Percent-encoding of the path is decoded: an escaped id is the same id.'),
} satisfies Readonly<Record<string, Requirement>>;

/** Chapter 2: authentication. */
export const authentication = {
  'FL-2.1-1': must(
    'A request without credentials is UNAUTHENTICATED, on every operation, and changes nothing.',
  ),
  'FL-2.1-2': must('Credentials that are none, or of another scheme, are UNAUTHENTICATED.'),
  'FL-2.1-3': must(
    'A token whose signature is not that of the key which its `kid` names is UNAUTHENTICATED.',
  ),
  'FL-2.1-4': must('A token with `alg` `none`, or with a signature left out, is UNAUTHENTICATED.'),
  'FL-2.1-5': must('A token that has expired is UNAUTHENTICATED.'),
  'FL-2.1-6': must('A token for another audience is UNAUTHENTICATED.'),
  'FL-2.1-7': must('A token without `exp` is UNAUTHENTICATED.'),
  'FL-2.1-8': must('No answer repeats the credentials of the request.'),
  'FL-2.2-1': must(
    'Where mutual TLS is used, a connection without a certificate that the server trusts is refused.',
  ),
} satisfies Readonly<Record<string, Requirement>>;

/** Chapter 6: lists. */
export const lists = {
  'FL-6.1-1': must('A list has every resource once, in the order of its ids by their bytes.'),
  'FL-6.1-2': must('A page has at most `limit` entries, and 0 or no limit means as many as one page holds.'),
  'FL-6.1-3': must(
    'The pages of a list, put together, are the list, whatever their size, and the last has no `nextPageToken`.',
  ),
  'FL-6.1-4': must('A page token that the list did not give is ABORTED.'),
  'FL-6.1-5': must('A limit that is no whole number from 0 is INVALID_ARGUMENT.'),
  'FL-6.1-6': must(
    'With `volumeId` the list of snapshots has those of that volume alone, and none for one that is not there.',
    'snapshots',
  ),
  'FL-6.2-1': must(
    'What is there while all pages are read is in them once, whatever is created and deleted meanwhile.',
  ),
} satisfies Readonly<Record<string, Requirement>>;

/** Chapter 7: capabilities and capacity. */
export const capacity = {
  'FL-7.1-1': must('Capabilities are the same in every answer, until the vendor changes what it offers.'),
  'FL-7.1-2': must(
    'Capabilities name at least one access mode and one access type, and a feature with those that it builds on.',
  ),
  'FL-7.1-3': must('A schema of parameters is a JSON Schema, and parameters that it allows are accepted.'),
  'FL-7.2-1': must(
    'Every size is a whole number of `stepBytes`, from `minimumVolumeBytes` to `maximumVolumeBytes`, where these are named.',
  ),
  'FL-7.2-2': must(
    'A size below the least is made larger, or OUT_OF_RANGE where `limitBytes` forbids that; one above the most is OUT_OF_RANGE or RESOURCE_EXHAUSTED.',
  ),
  'FL-7.3-1': must(
    'What is available is a number of bytes, and the bounds of one volume are those of the capabilities or closer.',
    'capacity',
  ),
  'FL-7.3-2': must(
    'More than is available is made, or is RESOURCE_EXHAUSTED or OUT_OF_RANGE, and nothing is left.',
    'capacity',
  ),
  'FL-7.3-3': must('Deleting gives back what creating took, also when creating was refused.', 'capacity'),
  'FL-7.3-4': should(
    'Creating takes its bytes from what is available once, however often it is repeated.',
    'capacity',
  ),
} satisfies Readonly<Record<string, Requirement>>;
