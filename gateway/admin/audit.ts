import type { Finding } from '../../src/api/admin.ts';
import type { Backend } from '../backend.ts';
import type { Pools } from '../pools/pools.ts';
import { recordFindings, type FindingKey } from '../tables/findings.ts';
import { readInventory, type InventoryRow } from '../tables/inventory.ts';
import type { Engine } from '../store.ts';

/** All findings. `foreign` are the pools whose storage has something of which nothing is in the store. */
export type Audit = { readonly findings: readonly Finding[]; readonly foreign: ReadonlySet<string> };

/** What an audit compares; what is unfinished for less than `stuckAfterMs` is not stuck. */
export type AuditOptions = {
  readonly engine: Engine;
  readonly pools: Pools;
  readonly stuckAfterMs: number;
};

type Kind = Finding['kind'];
type Seen = FindingKey & { readonly detail: string; readonly sinceMs?: number };

/**
 * Compares the storage with the store and changes neither; only when something was first found is noted. What is made
 * or removed meanwhile is no finding: a row is there before the storage begins to create something, and until it is deleted.
 */
export async function audit({ engine, pools, stuckAfterMs }: AuditOptions): Promise<Audit> {
  const seen: Seen[] = [];
  const [unknownIn, knownIn] = [new Set<string>(), new Set<string>()];
  for (const kind of ['volume', 'snapshot'] as const) {
    const before = await readInventory(engine.reader, kind);
    const there = new Map<string, ReadonlySet<string> | undefined>();
    for (const { name, backend } of pools.all()) there.set(name, await readThere(backend, kind));
    const after = await readInventory(engine.reader, kind);
    for (const [pool, ids = []] of there) {
      const isKnown = (id: string): boolean => [before, after].some(rows => rows.get(id)?.pool === pool);
      const unknown = [...ids].filter(id => !isKnown(id));
      if (unknown.length > 0) unknownIn.add(pool);
      if ([...ids].some(isKnown)) knownIn.add(pool);
      for (const id of unknown)
        seen.push({ pool, kind, id, problem: 'unknown', detail: 'in the storage, not in the store' });
    }
    for (const row of after.values()) seen.push(...judge(row, before.get(row.id), there.get(row.pool)));
  }
  const nowMs = Date.now();
  const noted = await engine.transaction(sql => recordFindings(sql, seen, nowMs));
  const findings = noted.map(({ pool, kind, id, problem, detail, sinceMs, firstSeenMs }): Finding => {
    const ageMs = Math.max(0, nowMs - Math.min(sinceMs ?? firstSeenMs, firstSeenMs));
    return { pool, kind, id, problem, ageMs, detail };
  });
  return {
    findings: findings.filter(({ problem, ageMs }) => problem !== 'stuck' || ageMs >= stuckAfterMs),
    foreign: unknownIn.difference(knownIn),
  };
}

/** What the storage has, or undefined when it does not list that. */
async function readThere(backend: Backend, kind: Kind): Promise<ReadonlySet<string> | undefined> {
  const list = kind === 'volume' ? backend.list : backend.snapshots?.list;
  return list && new Set(await Array.fromAsync(list.call(kind === 'volume' ? backend : backend.snapshots)));
}

/** Only what the store said before and after the storage was asked counts. */
function judge(
  row: InventoryRow,
  before: InventoryRow | undefined,
  there: ReadonlySet<string> | undefined,
): readonly Seen[] {
  const { pool, kind, id, state, createdAtMs, unfinished } = row;
  if (!before || before.createdAtMs !== createdAtMs || before.state !== state) return [];
  const found: Seen[] = [];
  const whole = state === 'ready' || state === 'deleted';
  if (whole && there && !there.has(id))
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
