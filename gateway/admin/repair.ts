import type { Finding, RepairStep } from '../../src/api/admin.ts';
import { clusterOf } from '../../src/api/ids.ts';
import { asProblem, Problem, wordsForOperators } from '../../src/api/problem.ts';
import type { Operations } from '../operations/operation.ts';
import type { Recovery } from '../recovery.ts';
import { newSnapshotRecord } from '../snapshots/record.ts';
import type { Sql } from '../store.ts';
import { moveReservation } from '../tables/reservations.ts';
import { type SnapshotRecord, snapshotTable } from '../tables/snapshots.ts';
import { findAtStorage, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { emptyVolumeRecord } from '../volumes/record.ts';
import { check, type CheckResult, type CheckOptions } from './check.ts';

export type RepairOptions = CheckOptions & {
  readonly operations: Operations;
  readonly recovery: Recovery;
};

/** A row that keeps an id until the resource in the storage is removed. */
type Tombstone = VolumeRecord | SnapshotRecord;

/** Plans a repair. Resources in the storage that were first found less than `safetyAgeMs` ago are left alone. */
export function plan(
  { findings, foreign }: Omit<CheckResult, 'unchecked'>,
  safetyAgeMs: number,
): readonly RepairStep[] {
  return findings.map(finding => ({
    ...finding,
    ...decide(finding, { isForeign: foreign.has(finding.pool), safetyAgeMs }),
  }));
}

/** Takes the steps one by one. A failed step does not stop the next ones. */
export async function repair(
  options: RepairOptions,
  steps: readonly RepairStep[],
): Promise<readonly RepairStep[]> {
  const stuck = steps.some(({ action }) => action === 'finish');
  if (stuck) await options.recovery.sweep();
  // Work that was finished meanwhile, here or by another gateway, is not found again.
  const after = stuck ? await check(options) : { findings: [] };
  const left = new Set(after.findings.filter(({ problem }) => problem === 'stuck').map(keyOf));
  const done: RepairStep[] = [];
  for (const step of steps) {
    if (step.action === 'none') done.push({ ...step, outcome: 'left' });
    else if (step.action === 'remove') done.push(await remove(options, step));
    else done.push({ ...step, outcome: left.has(keyOf(step)) ? 'failed' : 'done' });
  }
  return done;
}

async function remove(options: RepairOptions, step: RepairStep): Promise<RepairStep> {
  try {
    await reclaim(options, step);
    return { ...step, outcome: 'done' };
  } catch (error) {
    return { ...step, outcome: 'failed', note: wordsForOperators(asProblem(error)) };
  }
}

/**
 * Removes a resource that is in the storage and not in the store. It first records a tombstone, so that no
 * gateway creates this id from then on. A gateway that is already creating it has recorded a row, and then
 * there is no tombstone. ABORTED when there is a row now; FAILED_PRECONDITION when the storage says that the
 * resource is in use. After any other failure the tombstone stays, and any gateway continues the removal.
 */
export async function reclaim(
  { pools, operations }: Pick<RepairOptions, 'pools' | 'operations'>,
  orphan: Pick<Finding, 'pool' | 'kind' | 'id'>,
): Promise<void> {
  const { pool, kind, id } = orphan;
  const { backend } = pools.get(pool);
  async function forget(sql: Sql, tombstone: Tombstone): Promise<void> {
    await moveReservation(sql, tombstone, undefined);
    await (kind === 'volume' ? volumeTable : snapshotTable).remove(sql, { id });
  }
  await operations.run<Tombstone, void, void>({
    operation: 'delete',
    subject: undefined,
    claims: [{ kind, id }],
    pool: () => pool,
    async intend(sql) {
      const tombstone = await bury(sql, orphan);
      if (tombstone) return { intent: tombstone };
      throw new Problem('ABORTED', `${kind} "${id}" is in the store now, so it is not removed`);
    },
    act: async () => (kind === 'volume' ? backend.delete({ id }) : backend.snapshots?.delete({ id })),
    succeed: (sql, { intent }) => forget(sql, intent),
    async fail(sql, { intent, problem }) {
      if (problem.code === 'FAILED_PRECONDITION') await forget(sql, intent);
    },
  });
}

/**
 * Records the tombstone; undefined when there is a row. Its nonce is empty, so that it stands for any data
 * with this id.
 */
async function bury(
  sql: Sql,
  { pool, kind, id }: Pick<Finding, 'pool' | 'kind' | 'id'>,
): Promise<Tombstone | undefined> {
  const known = { id, cluster: clusterOf(id) ?? '', name: id, pool };
  const dead = { nonce: '', state: 'deleting' } as const;
  const volume = {
    ...emptyVolumeRecord({ ...known, spec: { capabilities: [] }, source: undefined }),
    ...dead,
  };
  const of = { ...known, volumeId: '', parameters: {} };
  const snapshot = { ...newSnapshotRecord(of, { pool, segments: undefined, sizeBytes: 0 }), ...dead };
  if (kind === 'volume' && (await findAtStorage(sql, id))) return undefined;
  const isNew =
    kind === 'volume' ? await volumeTable.insert(sql, volume) : await snapshotTable.insert(sql, snapshot);
  if (!isNew) return undefined;
  const tombstone = kind === 'volume' ? volume : snapshot;
  await moveReservation(sql, undefined, tombstone);
  return tombstone;
}

function decide(
  { id, problem, ageMs }: Finding,
  { isForeign, safetyAgeMs }: { readonly isForeign: boolean; readonly safetyAgeMs: number },
): Pick<RepairStep, 'action' | 'note'> {
  if (problem === 'stuck') return { action: 'finish', note: '' };
  if (problem === 'missing') return leave('the gateway cannot bring its data back');
  if (clusterOf(id) === undefined) return leave('its id is not a volume or snapshot id of a gateway');
  if (isForeign)
    return leave('the store knows none of the volumes in this pool: check that it is the right store');
  if (ageMs < safetyAgeMs) return leave('it was first found less than the safety age ago');
  return { action: 'remove', note: '' };
}

function leave(note: string): Pick<RepairStep, 'action' | 'note'> {
  return { action: 'none', note };
}

function keyOf({ pool, kind, id, detail }: Finding): string {
  return `${pool} ${kind} ${id} ${detail}`;
}
