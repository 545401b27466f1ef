import { must, type Requirement } from './requirement.ts';

/** Chapter 5: snapshots and groups. */
export const snapshots = {
  'FL-5.1-1': must(
    'Creating a snapshot answers with its name, its volume and the size of that, and it becomes `ready`.',
    'snapshots',
  ),
  'FL-5.1-2': must(
    'The same request again answers the same snapshot, its `createdAt` included.',
    'snapshots',
  ),
  'FL-5.1-3': must(
    'The same URL with another volume is ALREADY_EXISTS, and the snapshot stays as it is.',
    'snapshots',
  ),
  'FL-5.1-4': must(
    'A snapshot of a volume that is not there is NOT_FOUND, as is reading one that is not there.',
    'snapshots',
  ),
  'FL-5.1-5': must('The same request many times at once makes one snapshot.', 'snapshots'),
  'FL-5.2-1': must(
    'Deleting answers 204 or 202, and then the snapshot is NOT_FOUND and in no list; one that is not there answers 204.',
    'snapshots',
  ),
  'FL-5.2-2': must(
    'A volume with snapshots is deleted and they stay whole, or it is FAILED_PRECONDITION and stays.',
    'snapshots',
  ),
  'FL-5.3-1': must('A volume made from a snapshot names its source, and has at least its size.', 'restore'),
  'FL-5.3-2': must(
    'A source that is not there is NOT_FOUND, and a size below that of the source OUT_OF_RANGE; nothing is left.',
    'restore',
  ),
  'FL-5.3-3': must(
    'A volume that was made from a snapshot stays when that is deleted, or deleting is FAILED_PRECONDITION.',
    'restore',
  ),
  'FL-5.4-1': must('A group has one ready snapshot of each volume, which names the group.', 'groups'),
  'FL-5.4-2': must(
    'The same request again answers the same group; with other volumes it is ALREADY_EXISTS.',
    'groups',
  ),
  'FL-5.4-3': must(
    'A group with a volume that is not there is NOT_FOUND, and no snapshot is left.',
    'groups',
  ),
  'FL-5.4-4': must('A member is not deleted alone: INVALID_ARGUMENT or FAILED_PRECONDITION.', 'groups'),
  'FL-5.4-5': must('Deleting a group deletes its snapshots; one that is not there answers 204.', 'groups'),
  'FL-5.5-1': must(
    'Blocks come in order, without overlap, within the size, and their pages leave nothing out.',
    'changes',
  ),
  'FL-5.5-2': must(
    'An offset beyond the size is OUT_OF_RANGE, and a base of another volume INVALID_ARGUMENT.',
    'changes',
  ),
} satisfies Readonly<Record<string, Requirement>>;
