import { must, type Requirement } from './requirement.ts';

/** The requirements of chapter 5. */
export const snapshots = {
  'FL-5.1-1': must(
    "Creating a snapshot answers with its name, its volume and the volume's size, and the snapshot becomes `ready`.",
    'snapshots',
  ),
  'FL-5.1-2': must(
    'A repeated request answers with the same snapshot, including its `createdAt`.',
    'snapshots',
  ),
  'FL-5.1-3': must(
    'A request for the same id with another volume is ALREADY_EXISTS, and the snapshot does not change.',
    'snapshots',
  ),
  'FL-5.1-4': must(
    'Creating a snapshot of a missing volume, and reading a missing snapshot, is NOT_FOUND.',
    'snapshots',
  ),
  'FL-5.1-5': must('Many concurrent equal requests create one snapshot.', 'snapshots'),
  'FL-5.2-1': must(
    'Deleting a snapshot answers 204, or 202 until it is done; then the snapshot is NOT_FOUND and not in the list. Deleting a missing snapshot answers 204.',
    'snapshots',
  ),
  'FL-5.2-2': must(
    'A volume with snapshots is deleted and its snapshots stay usable, or deleting it is FAILED_PRECONDITION and the volume stays.',
    'snapshots',
  ),
  'FL-5.3-1': must(
    'A volume made from a snapshot names the snapshot as its source, and is at least as large.',
    'restore',
  ),
  'FL-5.3-2': must(
    'A missing source is NOT_FOUND, and a size below the size of the source is OUT_OF_RANGE; neither leaves a volume.',
    'restore',
  ),
  'FL-5.3-3': must(
    'A volume that was made from a snapshot stays when the snapshot is deleted, or deleting the snapshot is FAILED_PRECONDITION.',
    'restore',
  ),
  'FL-5.4-1': must(
    'A group has one ready snapshot of each volume, and each snapshot names the group.',
    'groups',
  ),
  'FL-5.4-2': must(
    'A repeated request answers with the same group; a request with other volumes is ALREADY_EXISTS.',
    'groups',
  ),
  'FL-5.4-3': must('A group with a missing volume is NOT_FOUND, and leaves no snapshot.', 'groups'),
  'FL-5.4-4': must(
    "A group's snapshot cannot be deleted on its own: INVALID_ARGUMENT or FAILED_PRECONDITION.",
    'groups',
  ),
  'FL-5.4-5': must('Deleting a group deletes its snapshots; deleting a missing group answers 204.', 'groups'),
  'FL-5.5-1': must(
    'Blocks are sorted, do not overlap, lie within the size, and none is missing between pages.',
    'changes',
  ),
  'FL-5.5-2': must(
    'An offset beyond the size is OUT_OF_RANGE, and a base that is a snapshot of another volume is INVALID_ARGUMENT.',
    'changes',
  ),
} satisfies Readonly<Record<string, Requirement>>;
