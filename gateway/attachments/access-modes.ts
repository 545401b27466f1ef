import { preconditionProblem } from '../../src/api/problem.ts';
import { type AttachmentRecord, nodeName } from '../tables/attachments.ts';
import type { AttachRequest } from './record.ts';

/**
 * Throws FAILED_PRECONDITION, which names another node, unless neither attachment writes or both modes allow
 * the writers. While a reader may replay a journal, no node may write.
 */
export function requireShareable(others: readonly AttachmentRecord[], request: AttachRequest): void {
  const other = others.find(one => !isShareable(one, request));
  if (other)
    throw preconditionProblem(`volume "${request.volumeId}" is attached to node ${nodeName(other, request)}`);
}

function isShareable(other: AttachmentRecord, request: AttachRequest): boolean {
  const sides = [other, request];
  const modes = sides.map(({ capability }) => capability.accessMode);
  const writers = sides.filter(({ readonly }) => !readonly);
  return (
    modes.every(mode => mode.startsWith('MULTI_NODE_')) &&
    (writers.every(({ capability }) => capability.accessMode === 'MULTI_NODE_MULTI_WRITER') ||
      (writers.length === 1 && modes.every(mode => mode === 'MULTI_NODE_SINGLE_WRITER'))) &&
    !(other.reach?.mayReplay && writers.length > 0)
  );
}
