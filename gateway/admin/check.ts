import type { Finding, UncheckedPool } from '../../src/api/admin.ts';
import { asProblem, wordsForOperators } from '../../src/api/problem.ts';
import type { Backend } from '../backend.ts';
import type { Pools } from '../pools/pools.ts';
import { withoutPoolName } from '../pools/state/waiting.ts';
import { noteChecked, readMissed, readTime } from '../tables/clock.ts';
import { readFindings, replaceFindings, type FindingKey, type FindingRecord } from '../tables/findings.ts';
import { readInventory, type InventoryRow } from '../tables/inventory.ts';
import { readAllInPieces } from '../tables/paging.ts';
import type { Engine } from '../store.ts';
import type { Slices } from '../scheduling/slices.ts';

/**
 * All findings, and the pools whose list could not be read, or not to the end, so that not all was compared.
 * `foreign`: pools that hold volumes but none that this store knows.
 */
export type CheckResult = {
  readonly findings: readonly Finding[];
  readonly unchecked: readonly UncheckedPool[];
  readonly foreign: ReadonlySet<string>;
};

/** The parts that a check compares. Work that has been unfinished for less than `stuckAfterMs` is not stuck. */
export type CheckOptions = {
  readonly engine: Engine;
  readonly pools: Pools;
  readonly slices: Slices;
  readonly stuckAfterMs: number;
};

type Kind = Finding['kind'];
/** Ids in the storage by pool; undefined for a pool without a list. */
type ListedIds = Map<string, Set<string> | undefined>;
/** The differences that the first look at the storage and the store has found. */
type Suspects = {
  /** Ids by pool that only the storage has. */
  readonly unknown: ReadonlyMap<string, Set<string>>;
  /** Rows with unfinished work, and rows that only the store has, by their id in the storage. */
  readonly rows: ReadonlyMap<string, InventoryRow>;
  /** Pools that have to be listed again. */
  readonly pools: ReadonlySet<string>;
};
/** Other callers get a time slice after this number of ids of the storage. */
const idsPerSlice = 1_000;

type Observation = FindingKey & { readonly detail: string; readonly sinceMs?: number };
/** A finding with the time of its first check, in time that gateways have seen: see `readMissed`. */
type DatedObservation = Observation & Pick<FindingRecord, 'firstSeenMs'>;

/**
 * Compares the storage with the store and changes neither. It only records when each finding was first seen, and when
 * each pool was checked. Lists may have any order, so the ids of one kind in all pools are in memory, but no rows.
 *
 * Work in progress is no finding: a row exists before the storage begins to create, and until it has deleted. A resource
 * may come or go between the list and the read of the store, so both are read again, and only differences
 * that are found both times are reported. Only an id that comes and goes both times is reported by mistake.
 */
export async function check(options: CheckOptions): Promise<CheckResult> {
  const { engine, pools, slices, stuckAfterMs } = options;
  const seen: Observation[] = [];
  const startMs = await readTime(engine.reader);
  const compared = new Set<string>();
  const [unknownIn, knownIn] = [new Set<string>(), new Set<string>()];
  const unchecked = new Map(
    pools
      .waiting()
      .entries()
      .map(([pool, { reason }]) => [pool, reason]),
  );
  for (const kind of ['volume', 'snapshot'] as const) {
    const suspects = await findSuspects(kind);
    if (suspects.unknown.size + suspects.rows.size > 0) await confirm(kind, suspects);
  }
  async function findSuspects(kind: Kind): Promise<Suspects> {
    const listed = await readPools(kind, () => true);
    for (const [pool, ids] of listed) if (kind === 'volume' && ids) compared.add(pool);
    const rows = new Map<string, InventoryRow>();
    const again = new Set<string>();
    for await (const row of readStore(options, kind)) {
      const { pool, storageId, unfinished } = row;
      const ids = listed.get(pool);
      const isListed = ids?.delete(storageId);
      if (isListed) knownIn.add(pool);
      const isMissing = isListed === false && isWhole(row);
      if (isMissing) again.add(pool);
      if (isMissing || unfinished !== undefined) rows.set(storageId, row);
    }
    const unknown = new Map([...listed].flatMap(([pool, ids]) => (ids?.size ? [[pool, ids] as const] : [])));
    return { unknown, rows, pools: again.union(unknown) };
  }
  async function confirm(kind: Kind, { unknown, rows, pools: suspected }: Suspects): Promise<void> {
    const isSuspect = (pool: string, id: string): boolean => rows.has(id) || !!unknown.get(pool)?.has(id);
    const again = await readPools(kind, pool => suspected.has(pool), isSuspect);
    for await (const row of readStore(options, kind)) {
      const { pool, storageId } = row;
      for (const one of judge(row, rows.get(storageId), again.get(pool))) seen.push(one);
      again.get(pool)?.delete(storageId);
    }
    // The ids that are left belong to no row.
    function* report(): Generator<void, void> {
      for (const [pool, ids] of again)
        for (const id of ids ?? []) {
          yield;
          if (!unknown.get(pool)?.has(id)) continue;
          unknownIn.add(pool);
          seen.push({ pool, kind, id, problem: 'unknown', detail: 'in the storage, not in the store' });
        }
    }
    await slices.work('operator', report());
  }
  /** Lists the ids for which `isWanted` returns true. */
  async function readPools(
    kind: Kind,
    isIncluded: (pool: string) => boolean,
    isWanted: (pool: string, id: string) => boolean = () => true,
  ): Promise<ListedIds> {
    const listed: ListedIds = new Map();
    for (const { name, backend } of pools
      .all()
      .filter(pool => isIncluded(pool.name) && !unchecked.has(pool.name)))
      try {
        const ids = listThere(backend, kind);
        listed.set(name, ids && (await collect(ids, id => isWanted(name, id), slices)));
      } catch (error) {
        unchecked.set(name, withoutPoolName(name, wordsForOperators(asProblem(error))));
      }
    return listed;
  }
  const nowMs = await readTime(engine.reader);
  const seenMs = nowMs - (await readMissed(engine.reader));
  const noted = await recordFindings(options, seen, { seenMs, unchecked });
  await noteChecked(
    engine,
    [...compared].filter(pool => !unchecked.has(pool)),
    startMs,
  );
  const findings: Finding[] = [];
  function* select(): Generator<void, void> {
    for (const { pool, kind, id, problem, detail, sinceMs = nowMs, firstSeenMs } of noted) {
      yield;
      const ageMs = Math.max(0, nowMs - sinceMs, seenMs - firstSeenMs);
      if (problem !== 'stuck' || ageMs >= stuckAfterMs)
        findings.push({ pool, kind, id, problem, ageMs, detail });
    }
  }
  await slices.work('operator', select());
  return {
    findings,
    unchecked: [...unchecked].map(([pool, detail]) => ({ pool, detail })),
    foreign: unknownIn.difference(knownIn),
  };
}

/** Lists the ids in the storage; undefined if it has no list. */
function listThere(backend: Backend, kind: Kind): AsyncIterable<string> | undefined {
  return kind === 'volume' ? backend.list?.() : backend.snapshots?.list?.();
}

async function collect(
  ids: AsyncIterable<string>,
  isWanted: (id: string) => boolean,
  slices: Slices,
): Promise<Set<string>> {
  const wanted = new Set<string>();
  let count = 0;
  for await (const id of ids) {
    if (isWanted(id)) wanted.add(id);
    if (++count % idsPerSlice === 0) await slices.take('operator', async () => {});
  }
  return wanted;
}

/** Reads the rows of the store, a few in each time slice. Their id in the storage is unique. */
function readStore({ engine, slices }: Pick<CheckOptions, 'engine' | 'slices'>, kind: Kind) {
  return readAllInPieces<InventoryRow>((last, limit) =>
    slices.take('operator', () => readInventory(engine.reader, kind, { afterId: last?.id ?? '', limit })),
  );
}

/**
 * Records the present findings, and removes earlier ones that were not found again, except findings of pools that did
 * not answer. Returns each finding with the time of its first check.
 */
async function recordFindings(
  { engine, slices }: Pick<CheckOptions, 'engine' | 'slices'>,
  found: readonly Observation[],
  { seenMs, unchecked }: { readonly seenMs: number; readonly unchecked: { has(pool: string): boolean } },
): Promise<readonly DatedObservation[]> {
  const known = new Map<string, FindingRecord>();
  const recorded = readAllInPieces<FindingRecord>((last, limit) =>
    slices.take('operator', () => readFindings(engine.reader, last, limit)),
  );
  for await (const one of recorded) known.set(keyOf(one), one);
  const dated: DatedObservation[] = [];
  const added: DatedObservation[] = [];
  function* compare(): Generator<void, void> {
    for (const one of found) {
      yield;
      const before = known.get(keyOf(one));
      const now = { ...one, firstSeenMs: before?.firstSeenMs ?? seenMs };
      dated.push(now);
      if (!before) added.push(now);
      known.delete(keyOf(one));
    }
  }
  await slices.work('operator', compare());
  const gone = [...known.values()].filter(({ pool }) => !unchecked.has(pool));
  await replaceFindings(engine, { gone, added });
  return dated;
}

function keyOf({ pool, kind, id, problem }: FindingKey): string {
  return `${pool} ${kind} ${id} ${problem}`;
}

/** Returns true for a resource that the storage must have. */
function isWhole({ state }: InventoryRow): boolean {
  return state === 'ready' || state === 'deleted';
}

/**
 * Finds the faults of a row. It counts only if the store said the same before and after the storage was
 * listed again.
 */
function judge(
  row: InventoryRow,
  before: InventoryRow | undefined,
  listed: ReadonlySet<string> | undefined,
): readonly Observation[] {
  const { pool, kind, id, storageId, state, createdAtMs, unfinished } = row;
  if (!before || before.createdAtMs !== createdAtMs || before.state !== state) return [];
  const found: Observation[] = [];
  if (isWhole(row) && listed && !listed.has(storageId))
    found.push({ pool, kind, id, problem: 'missing', detail: `${state} in the store, not in the storage` });
  if (unfinished !== undefined && unfinished === before.unfinished)
    found.push({
      pool,
      kind,
      id,
      problem: 'stuck',
      detail: unfinished,
      // Only the start of a creation is recorded.
      ...(state === 'creating' && { sinceMs: createdAtMs }),
    });
  return found;
}
