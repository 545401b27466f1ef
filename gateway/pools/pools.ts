import { Problem, problemTable, unavailableProblem } from '../../src/api/problem.ts';
import type { Segments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { AttachmentBounds, Backend, PoolContext } from '../backend.ts';
import type { PoolEntry } from '../configuration/file.ts';
import type { Plugins } from './plugins.ts';
import type { Reader } from '../store.ts';
import { listPoolsInUse } from '../tables/reservations.ts';
import { withinBounds } from './attachment-bounds.ts';

/** A backend with its settings, under the name that a StorageClass gives (`pool: fast`). */
export type Pool = { readonly name: string; readonly backend: Backend };

/** The pools of this gateway. While it runs, pools may be added, but never removed. */
export type Pools = ReturnType<typeof createPools>;

/** The configured pools that are not open yet, with the reason for each. */
type WaitingPools = ReadonlyMap<string, Problem>;

/** Looks pools up in the present `list`. All of them are offered unless `offered` returns fewer. */
export function createPools(
  list: () => readonly Pool[],
  offered: () => readonly Pool[] = list,
  waiting: () => WaitingPools = () => new Map(),
) {
  return {
    /** All open pools, in the order of their opening. */
    all: list,
    /** The pools of the present configuration, including waiting ones. New volumes are created only in these. */
    offered,
    /**
     * The pools whose storage has not been reached since this gateway started, with the reason. They are
     * tried again.
     */
    waiting,
    /** Finds the pool. UNAVAILABLE if it is not configured, or has not been reached yet. */
    get(name: string): Pool {
      const pool = list().find(one => one.name === name);
      if (!pool) throw waiting().get(name) ?? unavailableProblem(`pool "${name}" is not configured`);
      return pool;
    },
  };
}

/** Throws all pools that hold something but are not configured, because their volumes would be unmanaged. */
export async function requireKnownPools(sql: Reader, pools: Pools): Promise<void> {
  const faults: string[] = [];
  for (const { pool, ...usage } of await listPoolsInUse(sql))
    for (const kind of ['volumes', 'snapshots'] as const)
      if (usage[kind] > 0 && pools.all().every(({ name }) => name !== pool) && !pools.waiting().has(pool))
        faults.push(
          `pool "${pool}" is not configured, but the store has ${kind} in it (${usage[kind]}); configure it again`,
        );
  if (faults.length > 0) throw new AggregateError(faults);
}

/** The context for opening pools. A pool is opened only if `requireOwned` does not throw. */
export type OpenOptions = Omit<PoolContext, 'name'> & {
  readonly requireOwned?: ((pool: Pool) => Promise<void>) | undefined;
  /** Called with each opened and owned pool before it is used. */
  readonly restore?: ((pool: Pool) => Promise<void>) | undefined;
  /** Wraps a pool's backend, for example to count its calls. */
  readonly wrap?: ((pool: Pool) => Backend) | undefined;
};

type OpenedPool = Pool & { readonly ownBounds: AttachmentBounds | undefined; readonly entry: PoolEntry };
type OpenResult = { readonly name: string; readonly pool?: OpenedPool; readonly error?: unknown };

/** Makes the pools. None of them is open yet. */
export function createOpenPools(options: OpenOptions) {
  const { requireOwned = async () => {}, restore, wrap = pool => pool.backend, ...context } = options;
  const opened: OpenedPool[] = [];
  let offered: readonly Pool[] = [];
  let waiting: WaitingPools = new Map();
  let configured: ReadonlyMap<string, PoolEntry> = new Map();

  /** Returns the present bounds of each pool's attachments, including waiting pools. */
  function allBounds(): ReadonlyMap<string, AttachmentBounds | undefined> {
    const ofEntries = [...configured].map(([name, { attachments }]) => [name, attachments] as const);
    const ofOpened = opened.map(({ name, ownBounds, entry }) => {
      const { attachments } = configured.get(name) ?? entry;
      return [name, ownBounds ?? attachments] as const;
    });
    return new Map([...ofEntries, ...ofOpened]);
  }

  async function openPool(name: string, entry: PoolEntry, plugins: Plugins): Promise<OpenResult> {
    const { backend, settings, topology } = entry;
    let found: Backend | undefined;
    try {
      found = await plugins[backend]?.open(settings, { ...context, name });
      if (!found) throw new Error(`there is no backend "${backend}"`);
      if (topology && found.topologies)
        throw new Error(`topology: the backend "${backend}" reports its own topologies; remove this setting`);
      const ownBounds = found.attachmentBounds;
      if (entry.attachments && ownBounds)
        throw new Error(
          `attachments: the backend "${backend}" sets its own bounds of attachments; remove this setting`,
        );
      await requireOwned({ name, backend: found });
      await restore?.({ name, backend: found });
      const wrapped = wrap({ name, backend: withinBounds({ name, backend: found }, allBounds) });
      const placed = topology ? withTopology(wrapped, topology) : wrapped;
      return { name, pool: { name, backend: placed, ownBounds, entry } };
    } catch (error) {
      await found?.close?.();
      return { name, error };
    }
  }

  return {
    ...createPools(
      () => opened,
      () => offered,
      () => waiting,
    ),
    /**
     * Opens all entries that are not open yet, or none: then it rejects with every fault. A storage that
     * cannot be reached is not a fault; its pool waits, and the next call tries again. From then on, exactly
     * these entries are offered. An open pool keeps its settings, because it may hold volumes; a difference
     * is logged.
     */
    async open(entries: ReadonlyMap<string, PoolEntry>, plugins: Plugins): Promise<void> {
      configured = entries;
      const missing = [...entries].filter(([name]) => opened.every(pool => pool.name !== name));
      const outcomes = await Promise.all(missing.map(([name, entry]) => openPool(name, entry, plugins)));
      const added = outcomes.flatMap(({ pool }) => pool ?? []);
      const failed = outcomes.filter(({ pool }) => !pool);
      const unreached = failed.flatMap(({ name, error }) =>
        isUnreached(error) ? [[name, error] as const] : [],
      );
      if (failed.length > unreached.length) {
        await closeAll(added);
        throw new AggregateError(failed.map(({ name, error }) => toFault(name, error)));
      }
      for (const { name, entry } of opened) {
        const wanted = entries.get(name);
        const change = wanted ? 'its settings have changed' : 'it was removed';
        if (!wanted || !hasSameFixedSettings(wanted, entry))
          context.log.warn('a pool stays as it is until the next start', {
            detail: `pools.${name}: ${change}`,
          });
      }
      opened.push(...added);
      waiting = new Map(unreached);
      offered = [...opened.filter(({ name }) => entries.has(name)), ...unreached.map(toUnreached)];
    },
    close: () => closeAll(opened.splice(0)),
  };
}

/** Adds a topology. A backend's members may change while it is open, so they are looked up and not copied. */
function withTopology(backend: Backend, topology: Segments): Backend {
  return Object.create(backend, { topologies: { value: [topology] } }) as Backend;
}

/** Makes a pool that can be chosen. Every use of it fails. */
function toUnreached([name, problem]: readonly [string, Problem]): Pool {
  return {
    name,
    get backend(): Backend {
      throw problem;
    },
  };
}

/** Compares entries without the members that take effect at once. */
function hasSameFixedSettings(one: PoolEntry, other: PoolEntry): boolean {
  const { concurrency, attachments } = other;
  return sameJson({ ...one, concurrency, attachments }, other);
}

function isUnreached(error: unknown): error is Problem {
  return error instanceof Problem && !problemTable[error.code].final;
}

function toFault(name: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`pools.${name}: ${reason}`, { cause: error });
}

async function closeAll(pools: readonly Pool[]): Promise<void> {
  for (const { backend } of pools.toReversed()) await backend.close?.();
}
