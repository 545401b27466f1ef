import { must, type Requirement } from './requirement.ts';

/** Chapter 8: faults and restarts. */
export const faults = {
  'FL-8.1-1': must(
    'After the answer to creating a volume is lost, the same request answers the one volume that there is.',
  ),
  'FL-8.1-2': must('After the answer to deleting a volume is lost, the same request answers 204.'),
  'FL-8.1-3': must('After the answer to attaching is lost, the same request answers the one attachment.'),
  'FL-8.1-4': must('After the answer to detaching is lost, the same request answers 204.'),
  'FL-8.1-5': must('After the answer to growing is lost, the same request answers the size.', 'expand'),
  'FL-8.1-6': must(
    'After the answer to changing parameters is lost, the same request answers them.',
    'modify',
  ),
  'FL-8.1-7': must(
    'After the answer to creating or deleting a snapshot is lost, the same request answers as if it were not.',
    'snapshots',
  ),
  'FL-8.1-8': must(
    'After the answer to creating or deleting a group is lost, the same request answers as if it were not.',
    'groups',
  ),
  'FL-8.2-1': must('A request that is cut off in its body changes nothing.'),
  'FL-8.2-2': must(
    'A caller that goes away as soon as it has asked finds the work done, or does it with the same request.',
  ),
  'FL-8.2-3': must('A request that the network delivers twice at once has the effect of one.'),
  'FL-8.2-4': must('Requests on one resource that overtake each other leave it as one order of them would.'),
  'FL-8.2-5': must('Connections that send nothing, or slowly, hold up nobody else.'),
  'FL-8.3-1': must('What was answered as done is there after a restart, as it was answered.'),
  'FL-8.3-2': must('What a restart interrupts is finished by the same request, and leaves nothing else.'),
  'FL-8.3-3': must('A page token from before a restart goes on, or is ABORTED.'),
  'FL-8.4-1': must(
    'Any sequence of calls leaves what the rules say, and every answer is one that they allow.',
  ),
  'FL-8.4-2': must('Any calls at the same time leave what some order of them would.'),
} satisfies Readonly<Record<string, Requirement>>;

/** Chapter 9: data. */
export const data = {
  'FL-9.1-1': must(
    'Where the vendor says `zeroed`, a new volume reads as zeros, also in the place of one that was deleted.',
  ),
  'FL-9.1-2': must('What was written is read after detaching and attaching again, on any node.'),
  'FL-9.1-3': must(
    'A volume that grows keeps its bytes, and where the vendor says `zeroed` the new ones are zeros.',
    'expand',
  ),
  'FL-9.1-4': must('What was written is read after a restart.'),
  'FL-9.2-1': must(
    'A snapshot has the bytes of one point in time, from before it was answered, and keeps them whatever is written later.',
    'restore',
  ),
  'FL-9.2-2': must('A clone has the bytes of its source, and each goes its own way.', 'clone'),
  'FL-9.2-3': must(
    'A snapshot of a volume that is written meanwhile is of one point in time, or FAILED_PRECONDITION.',
    'restore',
  ),
  'FL-9.2-4': must('The snapshots of a group are of one point in time, or FAILED_PRECONDITION.', 'groups'),
  'FL-9.3-1': must(
    'The blocks that hold data, and those that differ from a base, leave out nothing that was written.',
    'changes',
  ),
} satisfies Readonly<Record<string, Requirement>>;
