import { must, type Requirement } from './requirement.ts';

/** The requirements of chapter 8. */
export const faults = {
  'FL-8.1-1': must(
    'If the answer to creating a volume is lost, the repeated request answers with that volume, and there is no second one.',
  ),
  'FL-8.1-2': must('If the answer to deleting a volume is lost, the repeated request answers 204.'),
  'FL-8.1-3': must(
    'If the answer to attaching is lost, the repeated request answers with that attachment, and there is no second one.',
  ),
  'FL-8.1-4': must('If the answer to detaching is lost, the repeated request answers 204.'),
  'FL-8.1-5': must(
    'If the answer to expanding a volume is lost, the repeated request answers with the new size.',
    'expand',
  ),
  'FL-8.1-6': must(
    'If the answer to modifying a volume is lost, the repeated request answers with the new parameters.',
    'modify',
  ),
  'FL-8.1-7': must(
    'If the answer to creating or deleting a snapshot is lost, the repeated request answers as the first did.',
    'snapshots',
  ),
  'FL-8.1-8': must(
    'If the answer to creating or deleting a group is lost, the repeated request answers as the first did.',
    'groups',
  ),
  'FL-8.2-1': must('A request that is cut off within its body changes nothing.'),
  'FL-8.2-2': must(
    'If the caller hangs up right after its request, the work is done, or the repeated request does it.',
  ),
  'FL-8.2-3': must('A request that the network delivers twice at once has the effect of one request.'),
  'FL-8.2-4': must(
    'Requests on one resource that overtake each other leave the state that one of their possible orders leads to.',
  ),
  'FL-8.2-5': must('Connections that send nothing, or send slowly, do not delay other requests.'),
  'FL-8.3-1': must('Finished work is still there after a restart, exactly as it was answered.'),
  'FL-8.3-2': must(
    'Work that a restart interrupts is finished by the repeated request, and leaves nothing else.',
  ),
  'FL-8.3-3': must('A page token from before a restart continues the list, or is ABORTED.'),
  'FL-8.4-1': must(
    'Any sequence of calls leads to the state that these rules describe, with answers that they allow.',
  ),
  'FL-8.4-2': must('Any concurrent calls lead to a state that one of their possible orders leads to.'),
} satisfies Readonly<Record<string, Requirement>>;

/** The requirements of chapter 9. */
export const data = {
  'FL-9.1-1': must(
    'If the capabilities say `zeroed`, a new volume reads as zeros, even where a deleted one was.',
  ),
  'FL-9.1-2': must('Written bytes can be read after detaching and attaching again, on any node.'),
  'FL-9.1-3': must(
    'An expanded volume keeps its bytes, and if the capabilities say `zeroed` the new ones are zeros.',
    'expand',
  ),
  'FL-9.1-4': must('Written bytes can be read after a restart.'),
  'FL-9.2-1': must(
    'A snapshot has the bytes of one point in time before its answer, and later writes do not change them.',
    'restore',
  ),
  'FL-9.2-2': must(
    'A clone has the bytes of its source, and later writes to one do not change the other.',
    'clone',
  ),
  'FL-9.2-3': must(
    'A snapshot of a volume under writes has the bytes of one point in time, or is FAILED_PRECONDITION.',
    'restore',
  ),
  'FL-9.2-4': must(
    'All snapshots of a group have the bytes of one point in time, or the group is FAILED_PRECONDITION.',
    'groups',
  ),
  'FL-9.3-1': must(
    'The lists of allocated blocks, and of blocks that differ from a base, contain every written byte.',
    'changes',
  ),
} satisfies Readonly<Record<string, Requirement>>;
