import { unavailableProblem } from '../../src/api/problem.ts';
import type { Segments } from '../../src/api/topology.ts';
import { withinTime } from '../../src/lib/concurrency.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { AttachmentBounds, Backend, PoolContext } from '../backend.ts';
import type { PoolEntry, Plugins } from './plugins.ts';
import { currentRequest, requireCaller } from '../scheduling/current-request.ts';
import type { Reader } from '../store.ts';
import { listPoolsInUse } from '../tables/reservations.ts';
import { type Answers, createAnswers } from './state/answers.ts';
import { createMachineCheck, type MachineCheck } from './state/machine.ts';
import { withIoLimits } from './io-limits.ts';
import { withinBounds } from './attachment-bounds.ts';
import {
  cannotOpen,
  isUnreached,
  opensFirst,
  type PoolPlace,
  reasonOf,
  unreached,
  type WaitingPool,
  type WaitingPools,
  withoutPoolName,
} from './state/waiting.ts';

/** A backend with its settings, under the name that a StorageClass gives (`pool: fast`). */
export type Pool = {
  readonly name: string;
  readonly backend: Backend;
  /** The storage's answers since the pool was opened. */
  readonly answers?: Answers;
  /** The address of its storage, from its settings. */
  readonly address?: string | undefined;
};

/** The pools of this gateway. While it runs, pools may be added, but never removed. */
export type Pools = ReturnType<typeof createPools>;

/** Looks pools up in the present `list`. All of them are offered unless `offered` returns fewer. */
export function createPools(
  list: () => readonly Pool[],
  offered: () => readonly Pool[] = list,
  waiting: () => WaitingPools = () => new Map(),
) {
  return {
    /** Returns how long deleted volumes of the pool can be restored, in milliseconds; undefined: its settings do not say. */
    keepDeletedMs: (_name: string): number | undefined => undefined,
    /** All open pools, in the order of their opening. */
    all: list,
    /** The pools of the present configuration, including waiting ones. New volumes are created only in these. */
    offered,
    /** The pools that have not been opened since this gateway started. They are tried again. */
    waiting,
    /** Lists what this machine lacks for the pool, one line each; undefined if that is not checked. */
    findLacks: async (_pool: string): Promise<readonly string[] | undefined> => undefined,
    /** Finds the pool. UNAVAILABLE if it is not configured, or not open yet. */
    get(name: string): Pool {
      const pool = list().find(one => one.name === name);
      if (!pool) throw waiting().get(name)?.problem ?? unavailableProblem(`pool "${name}" is not configured`);
      return pool;
    },
  };
}

/** Throws all pools that hold something but are not configured, because their volumes would be unmanaged. */
export async function requireKnownPools(sql: Reader, pools: Pools): Promise<void> {
  const names = [...pools.all().map(({ name }) => name), ...pools.waiting().keys()];
  const faults = await findUnknownPools(sql, names);
  if (faults.length > 0) throw new AggregateError(faults);
}

/** Lists the faults of pools that the store has something in, and that have none of these names. */
export async function findUnknownPools(sql: Reader, names: readonly string[]): Promise<readonly string[]> {
  const unknown = (await listPoolsInUse(sql)).filter(({ pool }) => !names.includes(pool));
  return unknown.flatMap(({ pool, ...usage }) =>
    (['volumes', 'snapshots'] as const)
      .filter(kind => usage[kind] > 0)
      .map(
        kind =>
          `pool "${pool}" is not configured, but the store has ${kind} in it (${usage[kind]}); configure it again`,
      ),
  );
}

/** The context for opening pools. A pool is opened only if `requireOwned` does not throw. */
export type OpenOptions = Omit<PoolContext, 'name' | 'currentRequest' | 'requireCaller'> & {
  readonly requireOwned?: ((pool: Pool) => Promise<void>) | undefined;
  /** Called with each opened and owned pool before it is used. */
  readonly restore?: ((pool: Pool) => Promise<void>) | undefined;
  /** Wraps a pool's backend, for example to count its calls. */
  readonly wrap?: ((pool: Pool) => Backend) | undefined;
  /** Called after a pool was opened that others did not wait for. */
  readonly onLateOpen?: (() => void) | undefined;
  /** The maximum wait for pools that open slowly, in milliseconds; absent: no maximum. */
  readonly patienceMs?: number | undefined;
};

type OpenedPool = Pool & { readonly ownBounds: AttachmentBounds | undefined; readonly entry: PoolEntry };
type OpenPoolOptions = { readonly plugins: Plugins; readonly requireWanted: () => void };
/** A pool whose storage is being asked. `number` counts the openings, so that lists have a fixed order. */
type Opening = { readonly entry: PoolEntry; readonly number: number; readonly done: Promise<void> };

/** Creates the pools. None of them is open yet. */
export function createOpenPools(options: OpenOptions) {
  const {
    requireOwned = async () => {},
    restore,
    wrap = pool => pool.backend,
    onLateOpen = () => {},
    patienceMs = Infinity,
    ...context
  } = options;
  const opened: (OpenedPool & { readonly number: number })[] = [];
  const openings = new Map<string, Opening>();
  const waiting = new Map<string, WaitingPool>();
  const faults = new Map<string, Error>();
  const machineChecks = new Map<string, MachineCheck>();
  /** Pools that opened, or will open, after others stopped waiting for them. */
  const late = new Set<string>();
  let count = 0;
  let configured: ReadonlyMap<string, PoolEntry> = new Map();
  /** The bounds of pools that are not open yet. */
  let expected: ReadonlyMap<string, AttachmentBounds | undefined> = new Map();

  /** Returns the present bounds of each pool's attachments, including waiting pools. */
  function allBounds(): ReadonlyMap<string, AttachmentBounds | undefined> {
    const ofOpened = opened.map(({ name, ownBounds, entry }) => {
      const { attachments } = configured.get(name) ?? entry;
      return [name, ownBounds ?? attachments] as const;
    });
    return new Map([...expected, ...ofOpened]);
  }

  /** Opens the pool, or closes it again and rejects. A pool that is no longer wanted is neither marked nor restored. */
  async function openPool(name: string, entry: PoolEntry, how: OpenPoolOptions): Promise<OpenedPool> {
    const { backend, settings, topology } = entry;
    const { plugins, requireWanted } = how;
    const found = await plugins[backend]?.open(settings, { ...context, name, currentRequest, requireCaller });
    if (!found) throw new Error(`there is no backend "${backend}"`);
    try {
      if (topology && found.topologies)
        throw new Error(`topology: the backend "${backend}" reports its own topologies; remove this setting`);
      const ownBounds = found.attachmentBounds;
      if (entry.attachments && ownBounds)
        throw new Error(
          `attachments: the backend "${backend}" sets its own bounds of attachments; remove this setting`,
        );
      requireWanted();
      await requireOwned({ name, backend: found });
      requireWanted();
      await restore?.({ name, backend: found });
      const answers = createAnswers();
      const wrapped = answers.watch(
        wrap({ name, backend: withinBounds({ name, backend: withIoLimits(found) }, allBounds) }),
      );
      const placed = topology ? withTopology(wrapped, topology) : wrapped;
      return { name, backend: placed, answers, ownBounds, entry, address: placeOf(entry, plugins).address };
    } catch (error) {
      await found.close?.();
      throw error;
    }
  }

  function begin(name: string, entry: PoolEntry, plugins: Plugins): void {
    const number = ++count;
    // A pool that is no longer wanted, or wanted with other settings, is closed once it has opened.
    const isWanted = (): boolean => openings.get(name)?.number === number;
    const requireWanted = (): void => {
      if (!isWanted()) throw new Error('the pool is no longer wanted with these settings');
    };
    const done = openPool(name, entry, { plugins, requireWanted }).then(
      pool => (isWanted() ? add({ ...pool, number }) : pool.backend.close?.().catch(() => {})),
      (error: unknown) => (isWanted() ? fail(name, error) : undefined),
    );
    openings.set(name, { entry, number, done });
    const before = waiting.get(name) ?? { ...opensFirst(name), sinceMs: Date.now() };
    waiting.set(name, { ...before, ...placeOf(entry, plugins) });
    const plugin = plugins[entry.backend];
    if (plugin) machineChecks.set(name, createMachineCheck(plugin, entry.settings, { ...context, name }));
  }

  function add(pool: (typeof opened)[number]): void {
    const { name } = pool;
    end(name);
    waiting.delete(name);
    opened.push(pool);
    opened.sort((one, other) => one.number - other.number);
    if (!late.delete(name)) return;
    context.log.info('a waiting pool was opened', { detail: `pools.${name}` });
    onLateOpen();
  }

  function fail(name: string, error: unknown): void {
    const { backend = '', address, sinceMs = Date.now() } = waiting.get(name) ?? {};
    const known = { backend, address, sinceMs, failedMs: Date.now() };
    end(name);
    late.add(name);
    if (isUnreached(error)) return void waiting.set(name, { ...known, ...unreached(name, error) });
    faults.set(name, toFault(name, error));
    waiting.set(name, { ...known, ...cannotOpen(name, error) });
  }

  function end(name: string): void {
    openings.delete(name);
    faults.delete(name);
  }

  function forget(name: string): void {
    end(name);
    waiting.delete(name);
    late.delete(name);
  }

  async function settle(timeoutMs: number): Promise<void> {
    await withinTime(Promise.all([...openings.values()].map(({ done }) => done)), timeoutMs);
    for (const name of openings.keys()) late.add(name);
  }

  function reportFixedSettings(entries: ReadonlyMap<string, PoolEntry>): void {
    for (const { name, entry } of opened) {
      const wanted = entries.get(name);
      const change = wanted ? 'its settings have changed' : 'it was removed';
      if (!wanted || !hasSameFixedSettings(wanted, entry))
        context.log.warn('a pool stays as it is until the next start', {
          detail: `pools.${name}: ${change}`,
        });
    }
  }

  return {
    ...createPools(
      () => opened,
      () => [...opened.filter(({ name }) => configured.has(name)), ...[...waiting].map(toUnreached)],
      () => waiting,
    ),
    keepDeletedMs: (name: string) =>
      (configured.get(name) ?? opened.find(one => one.name === name)?.entry)?.keepDeletedMs,
    findLacks: async (name: string) => machineChecks.get(name)?.(),
    /**
     * Opens all entries that are not open yet, and waits for them, within the patience. Pools that take longer
     * wait, as do pools that cannot be opened; the next call tries these again. From then on, exactly these
     * entries are offered. An open pool keeps its settings, because it may hold volumes; a difference is logged.
     */
    async open(entries: ReadonlyMap<string, PoolEntry>, plugins: Plugins): Promise<void> {
      configured = entries;
      expected = boundsOf(entries, plugins);
      reportFixedSettings(entries);
      for (const name of waiting.keys()) if (!entries.has(name)) forget(name);
      for (const [name, entry] of entries) {
        const asked = openings.get(name)?.entry;
        const isOpen = opened.some(pool => pool.name === name);
        if (!isOpen && !(asked && hasSameFixedSettings(asked, entry))) begin(name, entry, plugins);
      }
      await settle(patienceMs);
    },
    settle,
    /** The faults of pools. A storage that cannot be reached is no fault. */
    faults: (): readonly Error[] => [...configured.keys()].flatMap(name => faults.get(name) ?? []),
    /** Closes the open pools at once, and each other pool when its opening ends. */
    async close(): Promise<void> {
      openings.clear();
      await closeAll(opened.splice(0));
    },
  };
}

/** Returns the bounds of each pool's attachments as far as they are known before the pool is open. */
function boundsOf(
  entries: ReadonlyMap<string, PoolEntry>,
  plugins: Plugins,
): ReadonlyMap<string, AttachmentBounds | undefined> {
  const found = [...entries].map(([name, { backend, settings, attachments }]) => {
    return [name, plugins[backend]?.expectedBounds?.(settings) ?? attachments] as const;
  });
  return new Map(found);
}

function placeOf({ backend, settings }: PoolEntry, plugins: Plugins): PoolPlace {
  return { backend, address: plugins[backend]?.addressOf?.(settings) };
}

/** Adds a topology. A backend's members may change while it is open, so they are looked up and not copied. */
function withTopology(backend: Backend, topology: Segments): Backend {
  return Object.create(backend, { topologies: { value: [topology] } }) as Backend;
}

/** Makes a pool that can be chosen. Every use of it fails. */
function toUnreached([name, { problem }]: readonly [string, WaitingPool]): Pool {
  return {
    name,
    get backend(): Backend {
      throw problem;
    },
  };
}

/** Compares entries without the members that take effect at once. */
function hasSameFixedSettings(one: PoolEntry, other: PoolEntry): boolean {
  const { concurrency, attachments, keepDeletedMs } = other;
  return sameJson({ ...one, concurrency, attachments, keepDeletedMs }, other);
}

function toFault(name: string, error: unknown): Error {
  return new Error(`pools.${name}: ${withoutPoolName(name, reasonOf(error))}`, { cause: error });
}

async function closeAll(pools: readonly Pool[]): Promise<void> {
  for (const { backend } of pools.toReversed()) await backend.close?.();
}
