import { Problem, problemTable, unavailableProblem } from '../../src/api/problem.ts';
import type { Segments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Backend, PoolContext } from '../backend.ts';
import type { PoolEntry } from '../configuration/file.ts';
import type { Plugins } from '../configuration/plugins.ts';
import type { Reader } from '../store.ts';

/** A backend with its settings, under the name that a StorageClass gives (`pool: fast`). */
export type Pool = { readonly name: string; readonly backend: Backend };

/** The pools of this gateway. They may become more while it runs, never fewer. */
export type Pools = ReturnType<typeof createPools>;

/** Why pools that are configured are not open yet, by their names. */
type Waiting = ReadonlyMap<string, Problem>;

/** Looks pools up in what `list` gives now; all of them are offered unless `offered` gives fewer. */
export function createPools(
  list: () => readonly Pool[],
  offered: () => readonly Pool[] = list,
  waiting: () => Waiting = () => new Map(),
) {
  return {
    /** All pools that are open, in the order in which they were opened. */
    all: list,
    /** Those that the configuration names now, also while they wait: in these alone something new is created. */
    offered,
    /** Those whose storage could not be reached since this gateway started, and why; they are tried again. */
    waiting,
    /** UNAVAILABLE for a pool that the configuration does not name, or whose storage was not reached yet. */
    get(name: string): Pool {
      const pool = list().find(one => one.name === name);
      if (!pool) throw waiting().get(name) ?? unavailableProblem(`pool "${name}" is not configured`);
      return pool;
    },
  };
}

/** Throws with all pools that hold something and are not configured: to go on would leave that unmanaged. */
export async function requireKnownPools(sql: Reader, pools: Pools): Promise<void> {
  const faults: string[] = [];
  for (const table of ['volumes', 'snapshots'])
    for (const { pool, number } of await sql.all(
      `select pool, count(*) as number from ${table} group by pool`,
    ))
      if (pools.all().every(({ name }) => name !== pool) && !pools.waiting().has(String(pool)))
        faults.push(`pool "${pool}" is not configured, but the store has ${table} in it (${number})`);
  if (faults.length > 0) throw new AggregateError(faults);
}

/** What pools are opened with; each only when `requireOwned` does not throw. */
export type OpenOptions = Omit<PoolContext, 'name'> & {
  readonly requireOwned?: ((pool: Pool) => Promise<void>) | undefined;
  /** Called with each pool that was opened and is owned, before it is used. */
  readonly restore?: ((pool: Pool) => Promise<void>) | undefined;
  /** Lays something around a pool's backend, such as what counts its calls. */
  readonly wrap?: ((pool: Pool) => Backend) | undefined;
};

type Opened = Pool & { readonly entry: PoolEntry };
type Outcome = { readonly name: string; readonly pool?: Opened; readonly error?: unknown };

/** Opens pools; none is open yet. */
export function createOpenPools(options: OpenOptions) {
  const { requireOwned = async () => {}, restore, wrap = pool => pool.backend, ...context } = options;
  const opened: Opened[] = [];
  let offered: readonly Pool[] = [];
  let waiting: Waiting = new Map();

  async function openPool(name: string, entry: PoolEntry, plugins: Plugins): Promise<Outcome> {
    const { backend, settings, topology } = entry;
    let found: Backend | undefined;
    try {
      found = await plugins[backend]?.open(settings, { ...context, name });
      if (!found) throw new Error(`there is no backend "${backend}"`);
      if (topology && found.topologies)
        throw new Error(`topology: the backend "${backend}" knows its topologies itself`);
      await requireOwned({ name, backend: found });
      await restore?.({ name, backend: found });
      const wrapped = wrap({ name, backend: found });
      return { name, pool: { name, backend: topology ? withTopology(wrapped, topology) : wrapped, entry } };
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
     * Opens all of these that are not open yet by the plug-ins, or none: then it rejects with every fault together. What
     * cannot be reached is no fault: it waits, and is tried again by the next call. These are offered from then on, and no
     * others. What is open stays open with its settings, since volumes may lie in it; that is logged.
     */
    async open(entries: ReadonlyMap<string, PoolEntry>, plugins: Plugins): Promise<void> {
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
        const what = wanted ? 'its settings have changed' : 'it was removed';
        if (!wanted || !sameJson({ ...wanted, concurrency: entry.concurrency }, entry))
          context.log.warn('a pool stays as it is until the next start', {
            detail: `pools.${name}: ${what}`,
          });
      }
      opened.push(...added);
      waiting = new Map(unreached);
      offered = [...opened.filter(({ name }) => entries.has(name)), ...unreached.map(toUnreached)];
    },
    close: () => closeAll(opened.splice(0)),
  };
}

/** What a backend offers may change while it is open: members are looked up in it, and are not copied. */
function withTopology(backend: Backend, topology: Segments): Backend {
  return Object.create(backend, { topologies: { value: [topology] } }) as Backend;
}

/** One can be chosen; whatever is then asked of it fails. */
function toUnreached([name, problem]: readonly [string, Problem]): Pool {
  return {
    name,
    get backend(): Backend {
      throw problem;
    },
  };
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
