import { Problem } from '../../src/api/problem.ts';
import type { AttachmentRecord } from '../tables/attachments.ts';

/**
 * Two nodes may have a volume when neither writes, or in a mode that says who may write. Otherwise it is
 * FAILED_PRECONDITION, naming the node that has it.
 */
export function requireShareable(other: AttachmentRecord, asked: AttachmentRecord): void {
  const sides = [other, asked];
  const modes = sides.map(({ capability }) => capability.accessMode);
  const writers = sides.filter(({ readonly }) => !readonly);
  const shareable =
    modes.every(mode => mode.startsWith('MULTI_NODE_')) &&
    (writers.every(({ capability }) => capability.accessMode === 'MULTI_NODE_MULTI_WRITER') ||
      (writers.length === 1 && modes.every(mode => mode === 'MULTI_NODE_SINGLE_WRITER')));
  if (!shareable)
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${asked.volumeId}" is attached to node "${other.nodeId}"`,
    );
}
