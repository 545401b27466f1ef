import { clusterOf } from '../../src/api/ids.ts';
import { limitProblem, limits } from '../../src/api/limits.ts';
import { asProblem, invalidProblem, preconditionProblem, problemTable } from '../../src/api/problem.ts';
import type { Grant, GrantSpec } from '../../src/api/volume.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Reader, Sql } from '../store.ts';
import { attachmentTable, findAttachments, type ShownAttachment } from '../tables/attachments.ts';
import { addGrant, findSomeGrants, grantTable, removeGrant } from '../tables/grants.ts';
import { volumeTable } from '../tables/volumes.ts';
import { requireReadyVolume } from '../volumes/record.ts';
import { isAccepted, requireGrantee, requireOwner } from '../callers/access.ts';
import type { LoggedOperation } from '../operations/audit-log.ts';
import type { Cluster } from '../callers/cluster.ts';

type GrantKey = { readonly volumeId: string; readonly grantee: string; readonly cluster?: Cluster };

/** Detaches a volume from a node and returns once the node cannot reach it. */
export type Detacher = (attachment: ShownAttachment) => Promise<void>;

/** Says whether a grant must still be revoked. */
type RevokeCheck = (sql: Reader) => Promise<boolean>;

/** Creates the sharing of volumes between clusters. Operators may share any volume, and owners their own. */
export function createSharing({
  engine,
  operations,
  clusters,
}: Pick<ServiceOptions, 'engine' | 'operations' | 'clusters'>) {
  async function change(operation: string, key: GrantKey, work: (sql: Sql) => Promise<boolean>) {
    const { volumeId: id, grantee: about } = key;
    const logged: LoggedOperation = { operation, kind: 'volume', id, about };
    await operations.change(logged, async sql => {
      await sql.lock('volume', id);
      return { result: undefined, isChanged: await work(sql) };
    });
  }

  const remove = (key: GrantKey, isDue: RevokeCheck = async () => true): Promise<void> =>
    change('revoke', key, async sql => {
      if (!(await isDue(sql))) return false;
      const known = await findGrant(sql, key);
      await requireDetached(sql, key);
      if (!known) return false;
      await removeGrant(sql, known);
      const isShared = (await findSomeGrants(sql, key.volumeId, 1)).length > 0;
      if (!isShared) await volumeTable.update(sql, { id: key.volumeId }, { shared: false });
      return true;
    });

  const setRevoking = (key: GrantKey, revoking: boolean): Promise<void> =>
    change(revoking ? 'begin to revoke' : 'restore a grant', key, async sql => {
      const known = await findGrant(sql, key);
      if (known) await grantTable.update(sql, known, { revoking });
      return known !== undefined;
    });

  async function detachAndRemove(key: GrantKey, detach: Detacher, isDue?: RevokeCheck): Promise<void> {
    for (const attachment of await findAttachments(engine.reader, key.volumeId, key.grantee))
      if (!isDue || (await isDue(engine.reader))) await detach(attachment);
    await remove(key, isDue);
  }

  return {
    /**
     * Grants the volume to another cluster, or changes the access. FAILED_PRECONDITION while an attachment
     * needs access that the change would remove. An owner's grant is valid while the grantee's entry names
     * the owner; an operator's grant always is. A dry run throws the same, and changes nothing.
     */
    async grant(
      key: GrantKey,
      { access, dryRun = false }: GrantSpec & { readonly dryRun?: boolean },
    ): Promise<Grant> {
      const { volumeId, grantee: cluster } = key;
      if (key.cluster) await requireOwner(engine.reader, key.cluster, volumeId);
      const entry = requireGrantee(clusters, cluster);
      let byOperator = false;
      const work = async (sql: Sql): Promise<boolean> => {
        const { pool, shared } = await requireReadyVolume(sql, volumeId);
        requireOther(key);
        const known = await findGrant(sql, key);
        byOperator = key.cluster === undefined || known?.byOperator === true;
        const isSame = known?.access === access && known.byOperator === byOperator;
        if (isSame && !known.revoking) return false;
        if (!known) await requireBelowGrantLimit(sql, volumeId);
        if (access === 'read-only') await requireDetached(sql, key, 'and readonly = 0');
        if (dryRun) return false;
        if (known) await grantTable.update(sql, known, { access, byOperator, revoking: false });
        else await addGrant(sql, { volumeId, cluster, access, byOperator, revoking: false }, pool);
        if (!shared) await volumeTable.update(sql, { id: volumeId }, { shared: true });
        return true;
      };
      await (dryRun ? engine.transaction(work) : change(`grant ${access}`, key, work));
      const isAgreed = isAccepted(volumeId, { byOperator }, entry);
      return { volumeId, cluster, access, ...(!isAgreed && { isAccepted: isAgreed }) };
    },

    /**
     * Revokes the grant. FAILED_PRECONDITION, which names the node, while the grantee has the volume
     * attached. If the volume is not shared, nothing happens. A grantee may revoke its own grant, accepted or
     * not.
     */
    async revoke(key: GrantKey): Promise<void> {
      requireOther(key);
      const isLeaving = key.cluster?.name === key.grantee;
      if (isLeaving && !(await findGrant(engine.reader, key))) return;
      if (key.cluster && !isLeaving) await requireOwner(engine.reader, key.cluster, key.volumeId);
      await remove(key);
    },

    /** Throws why the grant cannot be revoked, and changes nothing. */
    async foreseeRevoke(key: GrantKey, { force }: { readonly force: boolean }): Promise<void> {
      requireOther(key);
      if (!force) await requireDetached(engine.reader, key);
    },

    /**
     * Detaches the volume from the grantee's nodes, then revokes the grant. From the start, nothing new is
     * attached by it. If a node cannot be detached, the grant stays, and that failure is thrown.
     */
    async forceRevoke(key: GrantKey, detach: Detacher): Promise<void> {
      // The owner's own attachments do not belong to a grant.
      requireOther(key);
      await setRevoking(key, true);
      try {
        await detachAndRemove(key, detach);
      } catch (error) {
        await setRevoking(key, false);
        throw error;
      }
    },

    /**
     * Continues a forced revocation that a gateway began and did not end. It can be repeated after a
     * temporary failure. A grant that was made again, or restored after a failure, stays.
     */
    async finishRevoking(key: GrantKey, detach: Detacher): Promise<void> {
      const isRevoking: RevokeCheck = async sql => (await findGrant(sql, key))?.revoking === true;
      if (!(await isRevoking(engine.reader))) return;
      try {
        await detachAndRemove(key, detach, isRevoking);
      } catch (error) {
        if (problemTable[asProblem(error).code].final) await setRevoking(key, false);
        throw error;
      }
    },
  };
}

/** Throws RESOURCE_EXHAUSTED when the volume has the maximum number of grants. */
async function requireBelowGrantLimit(sql: Reader, volumeId: string): Promise<void> {
  const count = await grantTable.count(sql, { same: { volumeId }, max: limits.grantsPerVolume.max });
  if (count >= limits.grantsPerVolume.max)
    throw limitProblem('grantsPerVolume', `volume "${volumeId}"`, count + 1);
}

function requireOther({ volumeId, grantee }: GrantKey): void {
  if (clusterOf(volumeId) === grantee)
    throw invalidProblem(
      `volume "${volumeId}" belongs to cluster "${grantee}"; name another cluster as the grantee`,
    );
}

function findGrant(sql: Reader, { volumeId, grantee: cluster }: GrantKey) {
  return grantTable.find(sql, { volumeId, cluster });
}

/**
 * Throws FAILED_PRECONDITION, which names a node, while the grantee has the volume attached and `condition`
 * holds for the attachment.
 */
async function requireDetached(sql: Reader, key: GrantKey, condition = ''): Promise<void> {
  const { volumeId, grantee: cluster } = key;
  const [held] = await attachmentTable.select(
    sql,
    { volumeId, cluster },
    `${condition} order by node_id limit 1`,
  );
  if (!held) return;
  const node = `node "${held.nodeId}" of cluster "${key.grantee}"`;
  const how = held.readonly ? 'read-only' : 'for writing';
  throw preconditionProblem(`volume "${key.volumeId}" is attached to ${node} ${how}; detach it first`);
}
