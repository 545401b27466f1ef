import type { Finding, UncheckedPool } from '../../src/api/admin.ts';
import { asProblem } from '../../src/api/problem.ts';
import type { Backend } from '../backend.ts';
import type { Pools } from '../pools/pools.ts';
import { noteChecked, readMissed, readTime } from '../tables/clock.ts';
import { recordFindings, type FindingKey } from '../tables/findings.ts';
import { readInventory, type InventoryRow } from '../tables/inventory.ts';
import { readInPieces } from '../tables/paging.ts';
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
type Inventory = ReadonlyMap<string, InventoryRow>;
/** Ids in the storage by pool; undefined for a pool without a list. */
type ListedIds = Map<string, ReadonlySet<string> | undefined>;
/** Ids by pool that seem to be only in the storage. */
type UnknownIds = Map<string, Set<string>>;
type Comparison = Readonly<Record<'before' | 'after', Inventory>> & {
  readonly listed: ListedIds;
  readonly unknown: UnknownIds;
};
type Confirmation = {
  readonly kind: Kind;
  readonly unknown: UnknownIds;
  readonly again: ListedIds;
  readonly last: Inventory;
};
/** Other callers get a time slice after this number of ids of the storage. */
const idsPerSlice = 1_000;

type Observation = FindingKey & { readonly detail: string; readonly sinceMs?: number };

/**
 * Compares the storage with the store and changes neither. It only records when each finding was first seen, and when
 * each pool was checked. Work in progress is no finding: a row exists before the storage begins to create, and until
 * it has deleted. A resource that seems to be only in the storage may have been created and deleted between two reads
 * of the store, so the storage is listed again. Only an id that comes and goes both times is reported by mistake.
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
    const before = await readStore(options, kind);
    const listed = await readPools(kind, () => true);
    const after = await readStore(options, kind);
    const unknown: UnknownIds = new Map();
    for (const [pool, ids] of listed) if (kind === 'volume' && ids) compared.add(pool);
    await slices.work('operator', compare({ before, listed, after, unknown }));
    if (unknown.size === 0) continue;
    const again = await readPools(kind, pool => unknown.has(pool));
    const last = await readStore(options, kind);
    await slices.work('operator', confirm({ kind, unknown, again, last }));
  }
  async function readPools(kind: Kind, isIncluded: (pool: string) => boolean): Promise<ListedIds> {
    const listed: ListedIds = new Map();
    for (const { name, backend } of pools
      .all()
      .filter(pool => isIncluded(pool.name) && !unchecked.has(pool.name)))
      try {
        listed.set(name, await readThere(backend, kind, slices));
      } catch (error) {
        const { reason, detail } = asProblem(error);
        unchecked.set(name, reason ?? detail);
      }
    return listed;
  }
  function* compare({ before, listed, after, unknown }: Comparison): Generator<void, void> {
    for (const [pool, ids = []] of listed)
      for (const id of ids) {
        yield;
        const isKnown = [before, after].some(rows => rows.get(id)?.pool === pool);
        if (isKnown) knownIn.add(pool);
        else unknown.set(pool, (unknown.get(pool) ?? new Set()).add(id));
      }
    for (const row of after.values()) {
      yield;
      seen.push(...judge(row, before.get(row.storageId), listed.get(row.pool)));
    }
  }
  function* confirm({ kind, unknown, again, last }: Confirmation): Generator<void, void> {
    for (const [pool, ids] of unknown)
      for (const id of ids) {
        yield;
        if (!again.get(pool)?.has(id) || last.get(id)?.pool === pool) continue;
        unknownIn.add(pool);
        seen.push({ pool, kind, id, problem: 'unknown', detail: 'in the storage, not in the store' });
      }
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
  function* collect(): Generator<void, void> {
    for (const { pool, kind, id, problem, detail, sinceMs = nowMs, firstSeenMs } of noted) {
      yield;
      const ageMs = Math.max(0, nowMs - sinceMs, seenMs - firstSeenMs);
      if (problem !== 'stuck' || ageMs >= stuckAfterMs)
        findings.push({ pool, kind, id, problem, ageMs, detail });
    }
  }
  await slices.work('operator', collect());
  return {
    findings,
    unchecked: [...unchecked].map(([pool, detail]) => ({ pool, detail })),
    foreign: unknownIn.difference(knownIn),
  };
}

/** Lists the ids in the storage; undefined if it has no list. */
async function readThere(
  backend: Backend,
  kind: Kind,
  slices: Slices,
): Promise<ReadonlySet<string> | undefined> {
  const list = kind === 'volume' ? backend.list : backend.snapshots?.list;
  if (!list) return undefined;
  const ids = new Set<string>();
  for await (const id of list.call(kind === 'volume' ? backend : backend.snapshots)) {
    ids.add(id);
    if (ids.size % idsPerSlice === 0) await slices.take('operator', async () => {});
  }
  return ids;
}

/** Reads the rows of the store by their id in the storage, which is unique. */
async function readStore(
  { engine, slices }: Pick<CheckOptions, 'engine' | 'slices'>,
  kind: Kind,
): Promise<Inventory> {
  const rows = new Map<string, InventoryRow>();
  await readInPieces({ afterId: '', limit: Infinity }, (afterId, limit) =>
    slices.take('operator', async () => {
      const piece = await readInventory(engine.reader, kind, { afterId, limit });
      for (const row of piece) rows.set(row.storageId, row);
      return piece;
    }),
  );
  return rows;
}

/**
 * Finds the faults of a row. It counts only if the store said the same before and after the storage was
 * listed.
 */
function judge(
  row: InventoryRow,
  before: InventoryRow | undefined,
  listed: ReadonlySet<string> | undefined,
): readonly Observation[] {
  const { pool, kind, id, storageId, state, createdAtMs, unfinished } = row;
  if (!before || before.createdAtMs !== createdAtMs || before.state !== state) return [];
  const found: Observation[] = [];
  const whole = state === 'ready' || state === 'deleted';
  if (whole && listed && !listed.has(storageId))
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
