import { must, should, type Requirement } from './requirement.ts';

/** Chapter 3: volumes. */
export const volumes = {
  'FL-3.1-1': must(
    'Creating a volume answers 201, or 202 until it is done, and then it is `ready` with the name and parameters that were asked for.',
  ),
  'FL-3.1-2': must('`sizeBytes` is at least `requiredBytes` and at most `limitBytes`.'),
  'FL-3.1-3': must(
    'Without `requiredBytes` the volume has a size of the vendor that is above 0 and within `limitBytes`.',
  ),
  'FL-3.1-4': must(
    '`requiredBytes` above `limitBytes` is INVALID_ARGUMENT or OUT_OF_RANGE, and nothing is left.',
  ),
  'FL-3.1-5': must('A capability that is not offered is INVALID_ARGUMENT, and nothing is left.'),
  'FL-3.1-6': must(
    '`createdAt` is a point in time as ISO 8601 writes it, and of about the time of the request.',
  ),
  'FL-3.1-7': must(
    'Parameters that the published schema does not allow are INVALID_ARGUMENT, and nothing is left.',
  ),
  'FL-3.2-1': must('The same request again answers 200 with the same volume, and makes no second one.'),
  'FL-3.2-2': must(
    'The same URL with a size that does not fit is ALREADY_EXISTS, and the volume stays as it is.',
  ),
  'FL-3.2-3': must(
    'The same URL with another name, source or parameters is ALREADY_EXISTS, and the volume stays as it is.',
  ),
  'FL-3.2-4': must(
    'The same request many times at once makes one volume; each answer is that volume, 202 or ABORTED.',
  ),
  'FL-3.2-5': must(
    'After a request that was refused, the same URL with a request that can be met makes the volume.',
  ),
  'FL-3.2-6': must('After a volume is deleted, the same URL makes a new one, of any size.'),
  'FL-3.3-1': must('Reading a volume gives what creating it answered; one that is not there is NOT_FOUND.'),
  'FL-3.4-1': must(
    'Deleting answers 204, or 202 until it is done, and then the volume is NOT_FOUND and in no list.',
  ),
  'FL-3.4-2': must('Deleting a volume that is not there, or a second time, answers 204.'),
  'FL-3.4-3': must('Deleting an attached volume is FAILED_PRECONDITION, and it stays as it is.'),
  'FL-3.5-1': must('A volume grows to a size within the bounds, and is read with that size.', 'expand'),
  'FL-3.5-2': must(
    'A volume that is large enough stays as it is, answered with 200: the same request again, or a smaller size.',
    'expand',
  ),
  'FL-3.5-3': must(
    'A `limitBytes` below the size that the volume has is OUT_OF_RANGE, and the volume stays as it is.',
    'expand',
  ),
  'FL-3.5-4': must('Growing a volume that is not there is NOT_FOUND.', 'expand'),
  'FL-3.5-5': must('An attached volume grows, or is FAILED_PRECONDITION and stays as it is.', 'expand'),
  'FL-3.6-1': must('Mutable parameters that are named are changed, and others stay as they are.', 'modify'),
  'FL-3.6-2': must(
    'Mutable parameters that are not known are INVALID_ARGUMENT, and none of the request is changed.',
    'modify',
  ),
  'FL-3.6-3': must('Changing parameters of a volume that is not there is NOT_FOUND.', 'modify'),
  'FL-3.7-1': must(
    'A volume that is well has no entries of health; one that is not there is NOT_FOUND.',
    'health',
  ),
  'FL-3.8-1': must('A volume made from a volume names its source, and has at least its size.', 'clone'),
  'FL-3.8-2': must(
    'A source that is not there is NOT_FOUND, and a size below that of the source OUT_OF_RANGE; nothing is left.',
    'clone',
  ),
} satisfies Readonly<Record<string, Requirement>>;

/** Chapter 4: attachments. */
export const attachments = {
  'FL-4.1-1': must(
    'Attaching answers `attached` with an attachment of a protocol that the vendor names, all of its fields, and the size of the volume.',
  ),
  'FL-4.1-2': must(
    'The same request again answers 200 with the same attachment, its `attachmentId` included.',
  ),
  'FL-4.1-3': must(
    'The same URL with another capability or another `readonly` is ALREADY_EXISTS, and the attachment stays as it is.',
  ),
  'FL-4.1-4': must(
    '`readonly` is as it was asked for, and true as well where the access mode is for readers only.',
  ),
  'FL-4.1-5': must('`mayFormat` is false for a volume that was made from another or from a snapshot.'),
  'FL-4.1-6': must(
    'Reading an attachment gives what attaching answered, and the volume lists it; one that is not there is NOT_FOUND.',
  ),
  'FL-4.1-7': must('Attaching a volume that is not there is NOT_FOUND.'),
  'FL-4.1-8': must('A capability that is not offered is INVALID_ARGUMENT, and nothing is attached.'),
  'FL-4.2-1': must('A volume that is attached for one node is FAILED_PRECONDITION for every other.'),
  'FL-4.2-2': must('Of many nodes that ask at once for a volume of one node, one gets it.'),
  'FL-4.2-3': must('A volume of many nodes is attached to several, where such an access mode is offered.'),
  'FL-4.2-4': should('FAILED_PRECONDITION for another node names the node that has the volume.'),
  'FL-4.3-1': must(
    'Detaching answers 204, or 202 until it is done, and then the attachment is NOT_FOUND and another node gets the volume.',
  ),
  'FL-4.3-2': must('Detaching what is not attached, or not there, answers 204.'),
  'FL-4.3-3': must('Attaching again after detaching gives another `attachmentId`.'),
  'FL-4.4-1': must('Attaching to a node that was not recorded is NOT_FOUND.', 'nodes'),
  'FL-4.4-2': must(
    'A node is recorded and forgotten as often as asked, and not forgotten while a volume is attached to it.',
    'nodes',
  ),
} satisfies Readonly<Record<string, Requirement>>;
