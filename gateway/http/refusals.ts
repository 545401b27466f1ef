import type { NamedOperation } from '../../src/api/operations.ts';
import type { LoggedOperation } from '../operations/audit-log.ts';
import { requirePlain } from './read.ts';
import type { CallerHandler } from './respond.ts';

export type RefusalLog = (operation: LoggedOperation, failure: unknown) => Promise<void>;

/**
 * Makes the audit log complete for operators and their readers: it gets each final refusal of a change, also of one
 * that no operation began for, because the caller is a reader, the request is wrong or the resource is unknown. A dry
 * run is no change.
 */
export function noteRefusals(
  operation: NamedOperation,
  noteRefusal: RefusalLog,
  serve: CallerHandler,
): CallerHandler {
  return async (c, caller) => {
    try {
      return await serve(c, caller);
    } catch (error) {
      const target = findTarget(c.req.param());
      if (!caller.cluster && target && !c.get('served').isDryRun)
        await noteRefusal({ operation: verbOf(operation), ...target }, error);
      throw error;
    }
  };
}

/** Returns the first word of the operation's id, such as `retire`, which is its name in the log. */
function verbOf({ id }: NamedOperation): string {
  return id.replace(/[A-Z].*/, '');
}

/** Finds the resource that the path names; undefined for a path without one, and for malformed ids. */
function findTarget(ids: Readonly<Record<string, string>>): Omit<LoggedOperation, 'operation'> | undefined {
  try {
    requirePlain(ids, 'path');
  } catch {
    return undefined;
  }
  const { volumeId, snapshotId, groupId, pool, cluster, nodeId, grantee: about } = ids;
  if (volumeId !== undefined) return { kind: 'volume', id: volumeId, about };
  if (snapshotId !== undefined) return { kind: 'snapshot', id: snapshotId };
  if (groupId !== undefined) return { kind: 'group', id: groupId };
  if (pool !== undefined) return { kind: 'pool', id: pool };
  if (nodeId !== undefined) return { kind: 'node', id: `${cluster}/${nodeId}` };
  return cluster === undefined ? undefined : { kind: 'cluster', id: cluster };
}
