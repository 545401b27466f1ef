import { clusterOf, isClusterName } from '../../src/api/ids.ts';
import { asProblem, invalidProblem, preconditionProblem, problemTable } from '../../src/api/problem.ts';
import type { Grant, GrantSpec } from '../../src/api/volume.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Reader, Sql } from '../store.ts';
import { attachmentTable, type AttachmentRecord } from '../tables/attachments.ts';
import { findGrants, grantTable } from '../tables/tenancy/grants.ts';
import { volumeTable } from '../tables/volumes.ts';
import { requireReadyVolume } from '../volumes/record.ts';
import { requireOwner } from './access.ts';
import type { Deed } from './audit-log.ts';
import type { Cluster } from './cluster.ts';

/** A volume, the cluster with which it is shared, and the cluster that asks for that, when no operator does. */
export type GrantKey = { readonly volumeId: string; readonly grantee: string; readonly cluster?: Cluster };

/** What closes an attachment, and returns once it is closed. */
export type Detach = (attachment: AttachmentRecord) => Promise<void>;

/** Whether a grant is still to be taken back. */
type IsToGo = (sql: Reader) => Promise<boolean>;

/** Makes what shares volumes with other clusters: an operator may do that, and who owns the volume. */
export function createSharing({ engine, operations }: Pick<ServiceOptions, 'engine' | 'operations'>) {
  async function change(operation: string, key: GrantKey, work: (sql: Sql) => Promise<boolean>) {
    const { volumeId: id, grantee: about } = key;
    const deed: Deed = { operation, kind: 'volume', id, about };
    await operations.change(deed, async sql => {
      await sql.lock('volume', id);
      const isChanged = await work(sql);
      if (isChanged)
        await volumeTable.update(sql, { id }, { shared: (await findGrants(sql, id)).length > 0 });
      return { result: undefined, isChanged };
    });
  }

  const remove = (key: GrantKey, isToGo: IsToGo = async () => true): Promise<void> =>
    change('revoke', key, async sql => {
      if (!(await isToGo(sql))) return false;
      const known = await findGrant(sql, key);
      await requireUnheld(sql, key);
      if (known) await grantTable.remove(sql, known);
      return known !== undefined;
    });

  const setRevoking = (key: GrantKey, revoking: boolean): Promise<void> =>
    change(revoking ? 'begin to revoke' : 'restore a grant', key, async sql => {
      const known = await findGrant(sql, key);
      if (known) await grantTable.update(sql, known, { revoking });
      return known !== undefined;
    });

  async function shutOut(key: GrantKey, detach: Detach, isToGo?: IsToGo): Promise<void> {
    for (const attachment of await findHeld(engine.reader, key))
      if (!isToGo || (await isToGo(engine.reader))) await detach(attachment);
    await remove(key, isToGo);
  }

  return {
    /** Shares the volume, or changes how. FAILED_PRECONDITION while what is taken back is attached. */
    async grant(key: GrantKey, { access }: GrantSpec): Promise<Grant> {
      const { volumeId, grantee: cluster } = key;
      if (key.cluster) await requireOwner(engine.reader, key.cluster, volumeId);
      if (!isClusterName(cluster)) throw invalidProblem(`"${cluster}" is no name of a cluster`);
      await change(`grant ${access}`, key, async sql => {
        await requireReadyVolume(sql, volumeId);
        requireOther(key);
        const known = await findGrant(sql, key);
        if (known?.access === access && !known.revoking) return false;
        if (access === 'read-only') await requireUnheld(sql, key, ({ readonly }) => !readonly);
        await grantTable.replace(sql, { volumeId, cluster, access, revoking: false });
        return true;
      });
      return { volumeId, cluster, access };
    },

    /** FAILED_PRECONDITION, naming the node, while the volume is attached by it; what is not shared is fine. */
    async revoke(key: GrantKey): Promise<void> {
      if (key.cluster) await requireOwner(engine.reader, key.cluster, key.volumeId);
      requireOther(key);
      await remove(key);
    },

    /**
     * Detaches the volume from the cluster's nodes first. Nothing new is attached from the first moment on; when a node
     * cannot be shut out, the cluster keeps what it was granted, and that failure is thrown.
     */
    async forceRevoke(key: GrantKey, detach: Detach): Promise<void> {
      // What the owner has attached is none of what it shares.
      requireOther(key);
      await setRevoking(key, true);
      try {
        await shutOut(key, detach);
      } catch (error) {
        await setRevoking(key, false);
        throw error;
      }
    },

    /**
     * Goes on with what a gateway began to revoke by force and did not end; what failed for now may be gone on with again. What is
     * granted anew meanwhile, or restored because the gateway lives and could not end it, stays.
     */
    async finishRevoking(key: GrantKey, detach: Detach): Promise<void> {
      const isRevoking: IsToGo = async sql => (await findGrant(sql, key))?.revoking === true;
      if (!(await isRevoking(engine.reader))) return;
      try {
        await shutOut(key, detach, isRevoking);
      } catch (error) {
        if (problemTable[asProblem(error).code].final) await setRevoking(key, false);
        throw error;
      }
    },
  };
}

/** INVALID_ARGUMENT when the volume is the grantee's own. */
function requireOther({ volumeId, grantee }: GrantKey): void {
  if (clusterOf(volumeId) === grantee)
    throw invalidProblem(`volume "${volumeId}" belongs to cluster "${grantee}"`);
}

function findGrant(sql: Reader, { volumeId, grantee: cluster }: GrantKey) {
  return grantTable.find(sql, { volumeId, cluster });
}

/** Its attachments at nodes of the grantee. */
function findHeld(
  sql: Reader,
  { volumeId, grantee: cluster }: GrantKey,
): Promise<readonly AttachmentRecord[]> {
  return attachmentTable.select(sql, { volumeId, cluster }, 'order by node_id');
}

async function requireUnheld(
  sql: Reader,
  key: GrantKey,
  isHeld: (one: AttachmentRecord) => boolean = () => true,
): Promise<void> {
  const held = (await findHeld(sql, key)).find(isHeld);
  if (!held) return;
  const node = `node "${held.nodeId}" of cluster "${key.grantee}"`;
  const how = held.readonly ? 'read-only' : 'for writing';
  throw preconditionProblem(`volume "${key.volumeId}" is attached to ${node} ${how}`);
}
