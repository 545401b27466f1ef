import type { Retirement, RetirementStep } from '../../src/api/admin.ts';
import { maxPageEntries, type Operations as Rows, type Request } from '../../src/api/operations.ts';
import { asProblem, invalidProblem, Problem, wordsForOperators } from '../../src/api/problem.ts';
import type { Change } from '../operations/audit-log.ts';
import { isKnownToCutOff } from '../attachments/cut-off.ts';
import type { Operations } from '../operations/operation.ts';
import type { Services } from '../services.ts';
import type { Reader, Sql } from '../store.ts';
import {
  attachmentTable,
  findAttachments,
  type AttachmentRecord,
  type ShownAttachment,
} from '../tables/attachments.ts';
import { closureTable, findClosure, requireInService } from '../tables/closures.ts';
import { readCount } from '../tables/counts.ts';
import { readAllInPieces } from '../tables/paging.ts';
import { nodeTable, type NodeRecord } from '../tables/nodes.ts';
import { readUsage } from '../tables/reservations.ts';
import { findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { findEntry } from '../callers/access.ts';
import type { Cluster } from '../callers/cluster.ts';
import type { RetiredClusters } from '../callers/retired.ts';
import type { Transfers } from '../sharing/transfer.ts';
import type { ListingOptions } from './state.ts';

export type RetirementOptions = Pick<ListingOptions, 'clusters' | 'engine' | 'pools' | 'slices'> &
  Pick<Services, 'attachments' | 'nodes' | 'volumes'> & {
    readonly operations: Operations;
    readonly retired: RetiredClusters;
  };

/** The next nodes by id. */
const nodesAfter = 'and node_id > ? order by node_id limit ?';
/** The next volumes that are not soft-deleted, as their index has them. */
const undeletedAfter = "and state <> 'deleted' and id > ? order by id limit ?";

/** One step of a retirement: shows why it is not possible, or takes it. */
type Action = Omit<RetirementStep, 'outcome' | 'note'> & {
  /** Throws the reason why the step is not possible. */
  readonly foresee: () => Promise<unknown>;
  readonly take: () => Promise<unknown>;
};

type RetireRequest = Request<Rows['retireCluster']>;
type Destination = (name: string) => Cluster;

/**
 * Makes the retirement of clusters. It first refuses the cluster's tokens and everything new for the cluster, so that
 * no step misses anything. Without `force`, a cluster with an attached volume stays in service. Each step is an
 * operation of its own. After a failure or a crash the cluster stays retired, and the same call continues.
 */
export function createRetirement(
  options: RetirementOptions,
  transfers: Transfers,
  requireCluster: Destination,
) {
  const { engine, operations, pools, retired, slices, attachments, nodes, volumes, clusters } = options;
  const { reader } = engine;

  const inSlice = <T>(piece: () => Promise<T>): Promise<T> => slices.take('operator', piece);

  async function detachment({ volumeId, nodeId, cluster }: ShownAttachment, force: boolean): Promise<Action> {
    const volume = await inSlice(() => findVolume(reader, volumeId));
    const isCutOff = !volume || isKnownToCutOff(pools, volume.pool);
    const key = { cluster: { name: cluster, acceptAnyNode: true }, volumeId, nodeId };
    const foresee = async (): Promise<void> => {
      if (!force)
        throw new Problem(
          'FAILED_PRECONDITION',
          'delete the pods that use it, or retire the cluster by force',
        );
    };
    return {
      kind: 'attachment',
      id: `${volumeId}/${cluster}/${nodeId}`,
      action: 'detach',
      ...(!isCutOff && { isCutOff }),
      foresee,
      take: () => foresee().then(() => attachments.detach(key)),
    };
  }

  function removal({ cluster: name, nodeId }: NodeRecord): Action {
    const take = () => nodes.delete({ name, acceptAnyNode: true }, nodeId);
    return { kind: 'node', id: `${name}/${nodeId}`, action: 'remove', foresee: doNothing, take };
  }

  function forVolume({ id, cluster }: VolumeRecord, body: RetireRequest['body']): Action {
    const common = { kind: 'volume', id } as const;
    if (body.volumes === 'transfer') {
      const request = { volumeId: id, to: requireCluster(body.to), mayDetach: body.force };
      return {
        ...common,
        action: 'transfer',
        foresee: () => transfers.foresee(request),
        take: () => transfers.transfer(request),
      };
    }
    if (body.volumes === 'delete')
      return {
        ...common,
        action: 'delete',
        foresee: () => volumes.foreseeDeletion({ id, detached: cluster }),
        take: () => volumes.delete({ name: cluster, acceptAnyNode: true }, id),
      };
    return { ...common, action: 'keep', foresee: doNothing, take: doNothing };
  }

  const listOwned = (cluster: string): AsyncGenerator<VolumeRecord, void> =>
    readAllInPieces<VolumeRecord>((last, limit) =>
      inSlice(() => volumeTable.select(reader, { cluster }, undeletedAfter, last?.id ?? '', limit)),
    );

  /** Lists the attachments of the cluster's volumes to the nodes of other clusters. */
  async function* listElsewhere(cluster: string): AsyncGenerator<ShownAttachment, void> {
    for await (const { id, shared } of listOwned(cluster)) {
      const all = shared ? await inSlice(() => findAttachments(reader, id)) : [];
      yield* all.filter(one => one.cluster !== cluster);
    }
  }

  /** Lists the steps: first all detachments, because a volume is deleted only while it is not attached. */
  async function* listActions({ cluster, body }: RetireRequest): AsyncGenerator<Action, void> {
    const attached = readAllInPieces<AttachmentRecord>((last, limit) => {
      const piece = {
        order: ['nodeId', 'volumeId'] as const,
        last: last ?? { nodeId: '', volumeId: '' },
        limit,
      };
      return inSlice(() => attachmentTable.selectAfter(reader, { cluster }, piece));
    });
    for await (const one of attached) yield await detachment(one, body.force);
    // A transfer keeps no attachment.
    if (body.volumes === 'transfer')
      for await (const one of listElsewhere(cluster)) yield await detachment(one, body.force);
    for await (const one of listOwned(cluster)) yield forVolume(one, body);
    const reported = readAllInPieces<NodeRecord>((last, limit) =>
      inSlice(() => nodeTable.select(reader, { cluster }, nodesAfter, last?.nodeId ?? '', limit)),
    );
    for await (const one of reported) yield removal(one);
  }

  /** Takes the steps, or with `isDry` only shows them. */
  async function walk(
    request: RetireRequest,
    isDry: boolean,
  ): Promise<Omit<Retirement, 'isRetired' | 'snapshots'>> {
    const steps: RetirementStep[] = [];
    let [total, failed, attached] = [0, 0, 0];
    for await (const { foresee, take, ...step } of listActions(request)) {
      total++;
      // A transfer detaches from every node, and a kept volume would stay attached.
      if (attached > 0 && step.kind !== 'attachment') {
        if (steps.length < maxPageEntries) steps.push({ ...step, outcome: 'left', note: '' });
        continue;
      }
      const fault = await (isDry ? foresee() : take()).then(
        () => undefined,
        (error: unknown) => wordsForOperators(asProblem(error)),
      );
      if (fault !== undefined) failed++;
      if (fault !== undefined && step.kind === 'attachment') attached++;
      const outcome = fault === undefined ? (isDry ? 'planned' : 'done') : 'failed';
      if (steps.length < maxPageEntries) steps.push({ ...step, outcome, note: fault ?? '' });
    }
    return { steps, total, failed };
  }

  async function change<T>(operation: string, name: string, work: (sql: Sql) => Promise<Change<T>>) {
    const result = await operations.change({ operation, kind: 'cluster', id: name }, work);
    await retired.refresh();
    return result;
  }

  return async (request: RetireRequest): Promise<Retirement> => {
    const { cluster: name, body } = request;
    const wasRetired = (await findClosure(reader, 'cluster', name)) !== undefined;
    const isKnown =
      wasRetired || findEntry(clusters, name) !== undefined || (await hasAnything(reader, name));
    if (!isKnown) {
      const names = Object.keys(clusters()).map(one => `"${one}"`);
      throw new Problem(
        'NOT_FOUND',
        `there is no cluster "${name}"; there are ${names.join(', ') || 'none'}`,
      );
    }
    const snapshots = (await readUsage(reader, name)).reduce((sum, one) => sum + one.snapshots, 0);
    if (body.end) {
      if (!body.dryRun) await change('end retirement', name, sql => open(sql, name));
      return { isRetired: body.dryRun && wasRetired, steps: [], total: 0, failed: 0, snapshots };
    }
    if (body.volumes === 'transfer') {
      const to = requireCluster(body.to).name;
      if (to === name) throw invalidProblem(`body.to: "${name}" is the cluster itself; name another cluster`);
      await engine.transaction(sql => requireInService(sql, to, name));
    }
    const isRetired = body.dryRun ? wasRetired : await change('retire', name, sql => close(sql, request));
    const isDry = body.dryRun || !isRetired;
    const walked = await walk(request, isDry);
    if (!body.dryRun && isDry && walked.failed === 0)
      throw new Problem('ABORTED', `a volume of cluster "${name}" was detached meanwhile; try again`);
    return { isRetired, ...walked, snapshots };
  };
}

/**
 * Records that the cluster is retired. Returns false, and records nothing, without `force` while a volume is attached
 * to a node of the cluster: only while its tokens are accepted, the end of a pod detaches the pod's volumes.
 */
async function close(sql: Sql, { cluster: name, body: { force } }: RetireRequest): Promise<Change<boolean>> {
  await sql.lock('cluster', name);
  if ((await findClosure(sql, 'cluster', name)) !== undefined) return { result: true, isChanged: false };
  const one = 'order by node_id limit 1';
  const isAttached = !force && (await attachmentTable.select(sql, { cluster: name }, one)).length > 0;
  if (!isAttached) await closureTable.add(sql, { kind: 'cluster', name, sinceMs: await sql.now() });
  return { result: !isAttached, isChanged: !isAttached };
}

/** Records that the cluster is in service. Nothing changes if it was before. */
async function open(sql: Sql, name: string): Promise<Change<void>> {
  await sql.lock('cluster', name);
  const isClosed = (await findClosure(sql, 'cluster', name)) !== undefined;
  if (isClosed) await closureTable.remove(sql, { kind: 'cluster', name });
  return { result: undefined, isChanged: isClosed };
}

const doNothing = async (): Promise<void> => {};

async function hasAnything(sql: Reader, cluster: string): Promise<boolean> {
  const usage = await readUsage(sql, cluster);
  if (usage.some(({ volumes, snapshots }) => volumes + snapshots > 0)) return true;
  return (await readCount(sql, cluster, 'nodes')) + (await readCount(sql, cluster, 'attachments')) > 0;
}
