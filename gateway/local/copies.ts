import { Problem } from '../../src/api/problem.ts';
import type { CreatedSnapshot, NewSnapshot } from '../backend.ts';

/** OUT_OF_RANGE when a source is larger than the limit of its copy, because data would be lost. 0 is no limit. */
export function requireWithinLimit(source: string, sizeBytes: number, limitBytes: number): void {
  if (limitBytes > 0 && sizeBytes > limitBytes)
    throw new Problem(
      'OUT_OF_RANGE',
      `${source} has ${sizeBytes} bytes, more than the limit of ${limitBytes}`,
    );
}

type CreateGroup = (members: readonly NewSnapshot[]) => Promise<readonly CreatedSnapshot[]>;

/** Makes the function that creates a snapshot as a group of one member. */
export function createAsGroup(createGroup: CreateGroup) {
  return async (snapshot: NewSnapshot): Promise<CreatedSnapshot> => {
    const [created] = await createGroup([snapshot]);
    if (!created) throw new Error('createGroup returned no snapshot');
    return created;
  };
}
