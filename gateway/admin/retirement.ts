import type { Retirement, RetirementStep } from '../../src/api/admin.ts';
import { maxPageEntries } from '../../src/api/operations.ts';
import {
  asProblem,
  invalidProblem,
  preconditionProblem,
  Problem,
  wordsForOperators,
} from '../../src/api/problem.ts';
import { suggest } from '../../src/lib/words/suggest.ts';
import type { Change } from '../operations/audit-log.ts';
import type { Operations } from '../operations/operation.ts';
import type { Reader, Sql } from '../store.ts';
import { attachmentTable } from '../tables/attachments.ts';
import { closureTable, findClosure, requireInService } from '../tables/closures.ts';
import { readCount } from '../tables/counts.ts';
import { readUsage } from '../tables/reservations.ts';
import { findEntry } from '../callers/access.ts';
import type { RetiredClusters } from '../callers/retired.ts';
import type { Transfers } from '../sharing/transfer.ts';
import { createSteps, type Destination, type RetireRequest, type StepOptions } from './retirement/steps.ts';
import type { ListingOptions } from './state.ts';

export type RetirementOptions = StepOptions &
  Pick<ListingOptions, 'clusters'> & {
    readonly operations: Operations;
    readonly retired: RetiredClusters;
  };

/**
 * Creates the retirement of clusters. It first refuses the cluster's tokens and everything new for the cluster, so that
 * no step misses anything. Without `force`, a cluster with an attached volume stays in service. Each step is an
 * operation of its own. After a failure or a crash the cluster stays retired, and the same call continues; until all
 * steps are done, the store has the retirement as unfinished.
 */
export function createRetirement(
  options: RetirementOptions,
  transfers: Transfers,
  requireCluster: Destination,
) {
  const { engine, operations, retired, clusters } = options;
  const { reader } = engine;
  const listSteps = createSteps(options, transfers, requireCluster);

  /** Takes the steps, or with `isDry` only shows them. */
  async function walk(
    request: RetireRequest,
    isDry: boolean,
  ): Promise<Omit<Retirement, 'isRetired' | 'snapshots'>> {
    const steps: RetirementStep[] = [];
    let [total, failed, attached] = [0, 0, 0];
    for await (const { foresee, take, ...step } of listSteps(request)) {
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

  const countSnapshots = async (cluster: string): Promise<number> =>
    (await readUsage(reader, cluster)).reduce((sum, { snapshots }) => sum + snapshots, 0);

  /** Throws if the volumes cannot go to the cluster that the request names. */
  async function requireDestination({ cluster: name, body }: RetireRequest): Promise<void> {
    if (body.volumes !== 'transfer') return;
    const to = requireCluster(body.to).name;
    if (to === name) throw invalidProblem(`body.to: "${name}" is the cluster itself; name another cluster`);
    await engine.transaction(sql => requireInService(sql, to, name));
  }

  async function end(
    { cluster: name, body: { dryRun } }: RetireRequest,
    wasRetired: boolean,
  ): Promise<Retirement> {
    if (!dryRun) await change('end retirement', name, sql => open(sql, name));
    const isRetired = dryRun && wasRetired;
    return { isRetired, steps: [], total: 0, failed: 0, snapshots: await countSnapshots(name) };
  }

  return async (request: RetireRequest): Promise<Retirement> => {
    const { cluster: name, body } = request;
    const logged = { operation: 'retire', kind: 'cluster', id: name } as const;
    const wasRetired = (await findClosure(reader, 'cluster', name)) !== undefined;
    const isKnown =
      wasRetired || findEntry(clusters, name) !== undefined || (await hasAnything(reader, name));
    if (!isKnown) throw unknownProblem(name, Object.keys(clusters()));
    if (body.end) return end(request, wasRetired);
    await requireDestination(request);
    const isRetired = body.dryRun ? wasRetired : await change('retire', name, sql => close(sql, request));
    const isDry = body.dryRun || !isRetired;
    const walked = await walk(request, isDry);
    if (!body.dryRun && isDry && walked.failed === 0)
      throw new Problem('ABORTED', `a volume of cluster "${name}" was detached meanwhile; try again`);
    if (!body.dryRun && !isRetired) await operations.noteRefusal(logged, attachedProblem(name));
    if (!isDry && walked.failed === 0)
      await engine.transaction(sql => closureTable.remove(sql, { kind: 'retirement', name }));
    return { isRetired, ...walked, snapshots: await countSnapshots(name) };
  };
}

function attachedProblem(name: string): Problem {
  return preconditionProblem(`volumes are attached to the nodes of cluster "${name}"`);
}

function unknownProblem(name: string, known: readonly string[]): Problem {
  const names = known.map(one => `"${one}"`).join(', ') || 'none';
  return new Problem('NOT_FOUND', `there is no cluster "${name}"${suggest(name, known)}; there are ${names}`);
}

/**
 * Records that the cluster is retired. Returns false, and records nothing, without `force` while a volume is attached
 * to a node of the cluster: only while its tokens are accepted, the end of a pod detaches the pod's volumes.
 */
async function close(sql: Sql, { cluster: name, body: { force } }: RetireRequest): Promise<Change<boolean>> {
  await sql.lock('cluster', name);
  const wasRetired = (await findClosure(sql, 'cluster', name)) !== undefined;
  const one = 'order by node_id limit 1';
  const isAttached =
    !wasRetired && !force && (await attachmentTable.select(sql, { cluster: name }, one)).length > 0;
  if (isAttached) return { result: false, isChanged: false };
  const sinceMs = await sql.now();
  if (!wasRetired) await closureTable.add(sql, { kind: 'cluster', name, sinceMs });
  if ((await findClosure(sql, 'retirement', name)) === undefined)
    await closureTable.add(sql, { kind: 'retirement', name, sinceMs });
  return { result: true, isChanged: !wasRetired };
}

/** Records that the cluster is in service. Nothing changes if it was before. */
async function open(sql: Sql, name: string): Promise<Change<void>> {
  await sql.lock('cluster', name);
  const isClosed = (await findClosure(sql, 'cluster', name)) !== undefined;
  for (const kind of ['cluster', 'retirement'] as const) await closureTable.remove(sql, { kind, name });
  return { result: undefined, isChanged: isClosed };
}

async function hasAnything(sql: Reader, cluster: string): Promise<boolean> {
  const usage = await readUsage(sql, cluster);
  if (usage.some(({ volumes, snapshots }) => volumes + snapshots > 0)) return true;
  return (await readCount(sql, cluster, 'nodes')) + (await readCount(sql, cluster, 'attachments')) > 0;
}
