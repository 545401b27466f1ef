import { must, should, type Requirement } from './requirement.ts';

/** The requirements of chapter 3. */
export const volumes = {
  'FL-3.1-1': must(
    'Creating a volume answers 201, or 202 until it is done; then the volume is `ready` with the requested name and parameters.',
  ),
  'FL-3.1-2': must('`sizeBytes` is at least `requiredBytes` and at most `limitBytes`.'),
  'FL-3.1-3': must('Without `requiredBytes` the vendor chooses a size above 0 and within `limitBytes`.'),
  'FL-3.1-4': must(
    '`requiredBytes` above `limitBytes` is INVALID_ARGUMENT or OUT_OF_RANGE, and leaves no volume.',
  ),
  'FL-3.1-5': must('A capability that is not offered is INVALID_ARGUMENT, and leaves no volume.'),
  'FL-3.1-6': must('`createdAt` is an ISO 8601 time within a day of the request.'),
  'FL-3.1-7': must(
    'Parameters that do not match the published schema are INVALID_ARGUMENT, and leave no volume.',
  ),
  'FL-3.2-1': must('A repeated request answers 200 with the same volume, and creates no second one.'),
  'FL-3.2-2': must(
    'A request for the same id with a size that does not fit is ALREADY_EXISTS, and the volume does not change.',
  ),
  'FL-3.2-3': must(
    'A request for the same id with another name, source or parameters is ALREADY_EXISTS, and the volume does not change.',
  ),
  'FL-3.2-4': must(
    'Many concurrent equal requests create one volume; each answer is that volume, 202 or ABORTED.',
  ),
  'FL-3.2-5': must('After a refused request, a valid request for the same id creates the volume.'),
  'FL-3.2-6': must('After a volume is deleted, a request for the same id creates a new one, of any size.'),
  'FL-3.3-1': must('Reading a volume gives the same as creating it; reading a missing volume is NOT_FOUND.'),
  'FL-3.4-1': must(
    'Deleting a volume answers 204, or 202 until it is done; then the volume is NOT_FOUND and not in the list.',
  ),
  'FL-3.4-2': must('Deleting a missing volume, or deleting a volume twice, answers 204.'),
  'FL-3.4-3': must('Deleting an attached volume is FAILED_PRECONDITION, and the volume does not change.'),
  'FL-3.5-1': must(
    'A volume is expanded to a size within the bounds of the request, and reads with that size.',
    'expand',
  ),
  'FL-3.5-2': must(
    'Expanding a volume that is large enough answers 200 and does not change it: a repeated request, or a smaller size.',
    'expand',
  ),
  'FL-3.5-3': must(
    "A `limitBytes` below the volume's size is OUT_OF_RANGE, and the volume does not change.",
    'expand',
  ),
  'FL-3.5-4': must('Expanding a missing volume is NOT_FOUND.', 'expand'),
  'FL-3.5-5': must(
    'Expanding an attached volume works, or is FAILED_PRECONDITION and does not change the volume.',
    'expand',
  ),
  'FL-3.6-1': must(
    'Modifying a volume changes the given mutable parameters, and keeps all other ones.',
    'modify',
  ),
  'FL-3.6-2': must(
    'An unknown mutable parameter is INVALID_ARGUMENT, and the request changes no parameter at all.',
    'modify',
  ),
  'FL-3.6-3': must('Modifying a missing volume is NOT_FOUND.', 'modify'),
  'FL-3.7-1': must(
    'The health of a volume without problems has no entries; the health of a missing volume is NOT_FOUND.',
    'health',
  ),
  'FL-3.8-1': must('A volume made from a volume names it as its source, and is at least as large.', 'clone'),
  'FL-3.8-2': must(
    'A missing source is NOT_FOUND, and a size below the size of the source is OUT_OF_RANGE; neither leaves a volume.',
    'clone',
  ),
} satisfies Readonly<Record<string, Requirement>>;

/** The requirements of chapter 4. */
export const attachments = {
  'FL-4.1-1': must(
    "Attaching answers `attached` with a complete attachment of a protocol in the capabilities, and with the volume's size.",
  ),
  'FL-4.1-2': must('A repeated request answers 200 with the same attachment, including its `attachmentId`.'),
  'FL-4.1-3': must(
    'A request for the same volume and node with another capability or `readonly` is ALREADY_EXISTS, and the attachment does not change.',
  ),
  'FL-4.1-4': must(
    '`readonly` has the requested value, and is always true for an access mode without writers.',
  ),
  'FL-4.1-5': must('`mayFormat` is false for a volume that was made from a volume or a snapshot.'),
  'FL-4.1-6': must(
    'Reading an attachment gives the same as attaching, and the volume lists it; reading a missing attachment is NOT_FOUND.',
  ),
  'FL-4.1-7': must('Attaching a missing volume is NOT_FOUND.'),
  'FL-4.1-8': must('A capability that is not offered is INVALID_ARGUMENT, and attaches nothing.'),
  'FL-4.2-1': must(
    'While a single-node volume is attached, attaching it to another node is FAILED_PRECONDITION.',
  ),
  'FL-4.2-2': must('If many nodes request a single-node volume at once, exactly one gets it.'),
  'FL-4.2-3': must(
    'A volume with an access mode for several nodes can be attached to several, if such a mode is offered.',
  ),
  'FL-4.2-4': should('The FAILED_PRECONDITION for another node names the node that has the volume.'),
  'FL-4.3-1': must(
    'Detaching answers 204, or 202 until it is done; then the attachment is NOT_FOUND and another node can attach the volume.',
  ),
  'FL-4.3-2': must('Detaching a volume that is missing or not attached answers 204.'),
  'FL-4.3-3': must('Attaching again after detaching gives a new `attachmentId`.'),
  'FL-4.4-1': must('Attaching to a node that is not recorded is NOT_FOUND.', 'nodes'),
  'FL-4.4-2': must(
    'Recording and deleting a node can be repeated; deleting a node with an attached volume is FAILED_PRECONDITION.',
    'nodes',
  ),
} satisfies Readonly<Record<string, Requirement>>;
