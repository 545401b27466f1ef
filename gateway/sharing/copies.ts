import { clusterOf } from '../../src/api/ids.ts';
import { limitProblem, limits } from '../../src/api/limits.ts';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { Copier, CopyGrant } from '../../src/api/volume.ts';
import { findEntry, isAccepted, requireGrantee, requireOwner } from '../callers/access.ts';
import type { Cluster } from '../callers/cluster.ts';
import { notFoundProblem, requireOwn } from '../callers/ownership.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Sql } from '../store.ts';
import type { Resource } from '../tables/claims.ts';
import { copyGrantTable, listCopyGrants } from '../tables/copy-grants.ts';
import { groupTable } from '../tables/groups.ts';
import { findMembers, snapshotTable } from '../tables/snapshots.ts';
import { findVolume } from '../tables/volumes.ts';

/** A dry run throws the same, and changes nothing. */
type CopyGrantKey = { readonly grantee: string; readonly cluster?: Cluster; readonly dryRun?: boolean };

/** Creates the grants by which other clusters copy volumes and snapshots. An operator grants any, and owners their own. */
export function createCopyGrants({
  engine,
  operations,
  clusters,
}: Pick<ServiceOptions, 'engine' | 'operations' | 'clusters'>) {
  async function requireMayGrant(source: Resource, { grantee, cluster }: CopyGrantKey): Promise<void> {
    if (cluster && source.kind === 'volume') await requireOwner(engine.reader, cluster, source.id);
    else if (cluster) requireOwn(cluster, source);
    if (clusterOf(source.id) === grantee)
      throw invalidProblem(
        `${source.kind} "${source.id}" belongs to cluster "${grantee}"; name another cluster as the grantee`,
      );
  }

  return {
    /**
     * Lets another cluster create volumes from the volume, the snapshot, or the members of the group. An owner's grant
     * is valid while the grantee's entry names the owner; an operator's grant always is.
     */
    async grant(source: Resource, key: CopyGrantKey): Promise<CopyGrant> {
      const { grantee: cluster } = key;
      await requireMayGrant(source, key);
      const entry = requireGrantee(clusters, cluster);
      let byOperator = false;
      let sources: readonly Resource[] = [];
      const work = async (sql: Sql) => {
        sources = await lockSources(sql, source);
        await requireReady(sql, source);
        let isChanged = false;
        for (const one of sources) {
          const known = await copyGrantTable.find(sql, { cluster, ...one });
          byOperator = key.cluster === undefined || known?.byOperator === true;
          if (known?.byOperator === byOperator) continue;
          if (!known) await requireFew(sql, one);
          if (!key.dryRun) await copyGrantTable.replace(sql, { cluster, ...one, byOperator });
          isChanged = true;
        }
        return { result: undefined, isChanged };
      };
      const logged = { operation: 'grant copies', ...source, about: cluster };
      await (key.dryRun ? engine.transaction(work) : operations.change(logged, work));
      const isAgreed = isAccepted(source.id, { byOperator }, entry);
      return { cluster, ...(!isAgreed && { isAccepted: isAgreed }), sources: sources.map(({ id }) => id) };
    },

    /** Once this returns, no copy begins by the grant. A copy that has begun is finished. */
    async revoke(source: Resource, key: CopyGrantKey): Promise<void> {
      const { grantee: cluster } = key;
      await requireMayGrant(source, key);
      if (key.dryRun) return;
      await operations.change({ operation: 'revoke copies', ...source, about: cluster }, async sql => {
        let isChanged = false;
        for (const one of await lockSources(sql, source)) {
          if (!(await copyGrantTable.find(sql, { cluster, ...one }))) continue;
          await copyGrantTable.remove(sql, { cluster, ...one });
          isChanged = true;
        }
        return { result: undefined, isChanged };
      });
    },
  };
}

/** Finds the clusters that were granted copies of these volumes or snapshots, by the id of the source. */
export async function findCopiers(
  { engine, clusters }: Pick<ServiceOptions, 'engine' | 'clusters'>,
  kind: Resource['kind'],
  sources: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, Copier[]>> {
  const found = new Map<string, Copier[]>();
  if (sources.length === 0) return found;
  const ids = sources.map(({ id }) => id);
  for (const { id, cluster, byOperator } of await listCopyGrants(engine.reader, kind, ids)) {
    const isAgreed = isAccepted(id, { byOperator }, findEntry(clusters, cluster) ?? {});
    const copier = { cluster, ...(!isAgreed && { isAccepted: isAgreed }) };
    found.getOrInsertComputed(id, () => []).push(copier);
  }
  return found;
}

/** Locks the source, and returns it, or the members of the group. */
async function lockSources(sql: Sql, source: Resource): Promise<readonly Resource[]> {
  await sql.lock(source.kind, source.id);
  if (source.kind !== 'group') return [source];
  const members = await findMembers(sql, source.id);
  for (const { id } of members) await sql.lock('snapshot', id);
  return members.map(({ id }) => ({ kind: 'snapshot', id }));
}

/** Throws NOT_FOUND when there is no such source, and ABORTED while it is being created or deleted. */
async function requireReady(sql: Sql, source: Resource): Promise<void> {
  const { kind, id } = source;
  const found =
    kind === 'volume'
      ? await findVolume(sql, id)
      : await (kind === 'group' ? groupTable : snapshotTable).find(sql, { id });
  if (!found) throw notFoundProblem(source);
  if (found.state !== 'ready')
    throw new Problem('ABORTED', `${kind} "${id}" is not ready: it is ${found.state}`);
}

async function requireFew(sql: Sql, { kind, id }: Resource): Promise<void> {
  const { max } = limits.grantsPerVolume;
  const count = await copyGrantTable.count(sql, { same: { kind, id }, max });
  if (count >= max) throw limitProblem('grantsPerVolume', `${kind} "${id}"`, count + 1);
}
