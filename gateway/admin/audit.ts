import type { Finding, Unasked } from '../../src/api/admin.ts';
import { asProblem } from '../../src/api/problem.ts';
import type { Backend } from '../backend.ts';
import type { Pools } from '../pools/pools.ts';
import { readTime } from '../tables/clock.ts';
import { recordFindings, type FindingKey } from '../tables/findings.ts';
import { readInventory, type InventoryRow } from '../tables/inventory.ts';
import { readInPieces } from '../tables/paging.ts';
import type { Engine } from '../store.ts';
import type { Turns } from '../tenancy/turns.ts';

/**
 * All findings, and the pools whose storage could not be asked, or not to the end, of which not all was compared. `foreign` are the
 * pools whose storage has something of which nothing is in the store.
 */
export type Audit = {
  readonly findings: readonly Finding[];
  readonly unasked: readonly Unasked[];
  readonly foreign: ReadonlySet<string>;
};

/** What an audit compares; what is unfinished for less than `stuckAfterMs` is not stuck. */
export type AuditOptions = {
  readonly engine: Engine;
  readonly pools: Pools;
  readonly turns: Turns;
  readonly stuckAfterMs: number;
};

type Kind = Finding['kind'];
type Inventory = ReadonlyMap<string, InventoryRow>;
/** Ids by pool; undefined for what a pool does not list. */
type There = Map<string, ReadonlySet<string> | undefined>;
/** What seems to be in the storage alone: ids by pool. */
type Unknown = Map<string, Set<string>>;
type Compared = Readonly<Record<'before' | 'after', Inventory>> & {
  readonly there: There;
  readonly unknown: Unknown;
};
type Confirmed = {
  readonly kind: Kind;
  readonly unknown: Unknown;
  readonly again: There;
  readonly last: Inventory;
};
/** After so many ids of the storage others have their turn. */
const idsPerTurn = 1_000;

type Seen = FindingKey & { readonly detail: string; readonly sinceMs?: number };

/**
 * Compares the storage with the store and changes neither; only when something was first found is noted. What is made
 * or removed meanwhile is no finding: a row is there before the storage begins to create something, and until it is deleted.
 * What seems to be in the storage alone may have been made and removed between two looks at the store, so that it is looked for
 * again; an id that comes and goes both times is reported.
 */
export async function audit(options: AuditOptions): Promise<Audit> {
  const { engine, pools, turns, stuckAfterMs } = options;
  const seen: Seen[] = [];
  const [unknownIn, knownIn] = [new Set<string>(), new Set<string>()];
  const unasked = new Map(
    pools
      .waiting()
      .entries()
      .map(([pool, { detail }]) => [pool, detail]),
  );
  for (const kind of ['volume', 'snapshot'] as const) {
    const before = await readStore(options, kind);
    const there = await readPools(kind, () => true);
    const after = await readStore(options, kind);
    const unknown: Unknown = new Map();
    await turns.work('operator', compare({ before, there, after, unknown }));
    if (unknown.size === 0) continue;
    const again = await readPools(kind, pool => unknown.has(pool));
    const last = await readStore(options, kind);
    await turns.work('operator', confirm({ kind, unknown, again, last }));
  }
  async function readPools(kind: Kind, isMeant: (pool: string) => boolean): Promise<There> {
    const there: There = new Map();
    for (const { name, backend } of pools.all().filter(pool => isMeant(pool.name) && !unasked.has(pool.name)))
      try {
        there.set(name, await readThere(backend, kind, turns));
      } catch (error) {
        unasked.set(name, asProblem(error).detail);
      }
    return there;
  }
  function* compare({ before, there, after, unknown }: Compared): Generator<void, void> {
    for (const [pool, ids = []] of there)
      for (const id of ids) {
        yield;
        const isKnown = [before, after].some(rows => rows.get(id)?.pool === pool);
        if (isKnown) knownIn.add(pool);
        else unknown.set(pool, (unknown.get(pool) ?? new Set()).add(id));
      }
    for (const row of after.values()) {
      yield;
      seen.push(...judge(row, before.get(row.storageId), there.get(row.pool)));
    }
  }
  function* confirm({ kind, unknown, again, last }: Confirmed): Generator<void, void> {
    for (const [pool, ids] of unknown)
      for (const id of ids) {
        yield;
        if (!again.get(pool)?.has(id) || last.get(id)?.pool === pool) continue;
        unknownIn.add(pool);
        seen.push({ pool, kind, id, problem: 'unknown', detail: 'in the storage, not in the store' });
      }
  }
  const nowMs = await readTime(engine.reader);
  const noted = await recordFindings(options, seen, { nowMs, unasked });
  const findings = noted.map(({ pool, kind, id, problem, detail, sinceMs, firstSeenMs }): Finding => {
    const ageMs = Math.max(0, nowMs - Math.min(sinceMs ?? firstSeenMs, firstSeenMs));
    return { pool, kind, id, problem, ageMs, detail };
  });
  return {
    findings: findings.filter(({ problem, ageMs }) => problem !== 'stuck' || ageMs >= stuckAfterMs),
    unasked: [...unasked].map(([pool, detail]) => ({ pool, detail })),
    foreign: unknownIn.difference(knownIn),
  };
}

/** What the storage has, or undefined when it does not list that. */
async function readThere(
  backend: Backend,
  kind: Kind,
  turns: Turns,
): Promise<ReadonlySet<string> | undefined> {
  const list = kind === 'volume' ? backend.list : backend.snapshots?.list;
  if (!list) return undefined;
  const ids = new Set<string>();
  for await (const id of list.call(kind === 'volume' ? backend : backend.snapshots)) {
    ids.add(id);
    if (ids.size % idsPerTurn === 0) await turns.take('operator', async () => {});
  }
  return ids;
}

/** What the store has, by what the storage calls it: no two have the same. */
async function readStore(
  { engine, turns }: Pick<AuditOptions, 'engine' | 'turns'>,
  kind: Kind,
): Promise<Inventory> {
  const rows = new Map<string, InventoryRow>();
  await readInPieces({ afterId: '', limit: Infinity }, (afterId, limit) =>
    turns.take('operator', async () => {
      const piece = await readInventory(engine.reader, kind, { afterId, limit });
      for (const row of piece) rows.set(row.storageId, row);
      return piece;
    }),
  );
  return rows;
}

/** Only what the store said before and after the storage was asked counts. */
function judge(
  row: InventoryRow,
  before: InventoryRow | undefined,
  there: ReadonlySet<string> | undefined,
): readonly Seen[] {
  const { pool, kind, id, storageId, state, createdAtMs, unfinished } = row;
  if (!before || before.createdAtMs !== createdAtMs || before.state !== state) return [];
  const found: Seen[] = [];
  const whole = state === 'ready' || state === 'deleted';
  if (whole && there && !there.has(storageId))
    found.push({ pool, kind, id, problem: 'missing', detail: `${state} in the store, not in the storage` });
  if (unfinished !== undefined && unfinished === before.unfinished)
    found.push({
      pool,
      kind,
      id,
      problem: 'stuck',
      detail: unfinished,
      // Only of what is being made it is recorded when that began.
      ...(state === 'creating' && { sinceMs: createdAtMs }),
    });
  return found;
}
