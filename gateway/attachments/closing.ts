import { asProblem } from '../../src/api/problem.ts';
import type { Backend } from '../backend.ts';
import { putAttachment, removeAttachment, type AttachmentRecord } from '../tables/attachments.ts';
import type { Sql } from '../store.ts';

/** Some ways to one volume that are closed within one piece of work, one after the other. */
export interface Closing {
  /** Records that they are to be closed. */
  intend(sql: Sql): Promise<void>;
  /** Closes them; throws what the storage threw at the first that it did not close. */
  act(): Promise<void>;
  /** The nodes from which the ways are not closed yet. */
  open(): readonly string[];
  /**
   * Forgets those that are closed. When the storage has refused (FAILED_PRECONDITION), the others are as they were
   * before: who asked is told that they are attached still. Otherwise they stay for a retry. Tells whether it refused.
   */
  settle(sql: Sql): Promise<{ readonly refused: boolean }>;
}

/** Prepares to close these, which are as they are recorded now. */
export function createClosing(
  backend: Pick<Backend, 'detach'>,
  attachments: readonly AttachmentRecord[],
): Closing {
  const closed = new Set<AttachmentRecord>();
  let refused = false;
  return {
    async intend(sql) {
      for (const attachment of attachments) await putAttachment(sql, { ...attachment, state: 'detaching' });
    },
    async act() {
      for (const attachment of attachments)
        try {
          await backend.detach({ id: attachment.volumeId }, attachment.nodeId);
          closed.add(attachment);
        } catch (error) {
          refused = asProblem(error).code === 'FAILED_PRECONDITION';
          throw error;
        }
    },
    open: () => attachments.filter(one => !closed.has(one)).map(({ nodeId }) => nodeId),
    async settle(sql) {
      for (const attachment of attachments) {
        if (closed.has(attachment)) await removeAttachment(sql, attachment);
        else if (refused) await putAttachment(sql, attachment);
      }
      return { refused };
    },
  };
}
