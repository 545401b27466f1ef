import { setTimeout as sleep } from 'node:timers/promises';
import type { Step } from '../../../../gateway/operations/operation.ts';
import { layFaults } from '../../../fakes/faulty-backend.ts';
import { changing, type Rule } from '../../../fakes/faulty-backend/rules.ts';
import type { MemoryBackend } from '../../../../gateway/backends/memory.ts';
import { createRecovery, type Recovery } from '../../../../gateway/operations/recovery.ts';
import { migrate } from '../../../../gateway/tables/schema.ts';
import { createPools } from '../../../../gateway/pools/pools.ts';
import { createServices, type Services } from '../../../../gateway/services.ts';
import type { Engine } from '../../../../gateway/store.ts';
import { openSqlite } from '../../../../gateway/stores/sqlite.ts';
import { createOperations } from '../../../../gateway/operations/operation.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { clusters, openMemory } from '../../../harness/gateway-harness.ts';
import { nodeZones, zones } from './model.ts';
import { crash, watchHangs, type HangWatch } from './hangs.ts';

/** Everything goes wrong now and then. */
const rules: readonly Rule[] = [
  { on: 'all', chance: 0.08, fault: 'fail' },
  { on: 'all', chance: 0.08, fault: 'lost-answer' },
  { on: 'all', chance: 0.04, fault: 'fail-after' },
  { on: 'all', chance: 0.04, fault: 'locked' },
  { on: 'all', chance: 0.04, fault: 'busy' },
  { on: changing, chance: 0.01, fault: 'hang' },
  { on: 'all', chance: 0.08, fault: 'wrong-size' },
  { on: 'all', chance: 0.2, fault: 'partial-page' },
  { on: 'all', chance: 0.05, fault: 'latency', leastMs: 0, mostMs: 2 },
];
const leaseMs = 40;

/** One gateway without its listener. */
export type Life = Services & { readonly engine: Engine; readonly recovery: Recovery };

/** Two gateways on one store, over one storage that goes wrong. */
export interface World {
  readonly storage: MemoryBackend;
  /** Which nodes can reach which volume now, as the storage has it. */
  readonly ways: ReadonlyMap<string, ReadonlySet<string>>;
  gateway(at: number): Life;
  /** The gateway dies when its work gets there next. */
  crashAt(at: number, point: Step['point']): void;
  /** What becomes of it; when a call of this gateway's to the storage never ends, throws `crash` instead. */
  unlessHung<T>(at: number, work: Promise<T>): Promise<T>;
  isHung(at: number): boolean;
  /** Drops the gateway, lets its claims run out, and starts another instead. */
  restart(at: number): Promise<void>;
  /** From here on nothing goes wrong. */
  calm(): Promise<void>;
  close(): Promise<void>;
}

/** Makes a world in which nothing is there. */
export async function openWorld(store: string, seed: number): Promise<World> {
  const ways = new Map<string, Set<string>>();
  const storage = watchWays(
    await openMemory(zones.map(zone => ({ totalBytes: 2 ** 39, segments: { zone } }))),
    ways,
  );
  let faults = rules;
  let started = 0;
  const watches = new Map<number, HangWatch>();
  const armed = new Map<number, Step['point']>();
  const lives: Life[] = [];

  async function start(at: number): Promise<void> {
    armed.delete(at);
    const engine = openSqlite(store);
    await migrate(engine);
    // Each life has faults of its own.
    const fate = { rules: faults, seed: seed + started++ };
    const watch = watchHangs(storage, inner => layFaults(inner, fate));
    watches.set(at, watch);
    const { backend } = watch;
    const checkpoint = ({ point }: Step): void => {
      if (armed.get(at) === point) throw crash;
    };
    const operations = createOperations({ engine, leaseMs, checkpoint });
    const pools = createPools(() => [{ name: 'main', backend }]);
    const services = createServices({ engine, pools, operations });
    lives[at] = { ...services, engine, recovery: createRecovery({ engine, services, log: silentLog }) };
  }

  function gateway(at: number): Life {
    const life = lives[at];
    if (!life) throw new Error(`there is no gateway ${at}`);
    return life;
  }

  async function restart(at: number): Promise<void> {
    await gateway(at).engine.close();
    // It can record nothing any more.
    watches.get(at)?.end();
    await sleep(leaseMs + 5);
    await start(at);
  }

  await start(0);
  await start(1);
  for (const [id, zone] of Object.entries(nodeZones))
    await gateway(0).nodes.put(clusters.a, id, { topology: { zone } });
  return {
    storage,
    ways,
    gateway,
    restart,
    unlessHung: (at, work) => Promise.race([work, watches.get(at)?.hung ?? work]),
    isHung: at => watches.get(at)?.isHung() ?? false,
    crashAt: (at, point) => void armed.set(at, point),
    async calm() {
      faults = [];
      await Promise.all([...lives.keys()].map(restart));
    },
    async close() {
      for (const { engine } of lives) await engine.close();
    },
  };
}

function watchWays(inner: MemoryBackend, ways: Map<string, Set<string>>): MemoryBackend {
  return {
    ...inner,
    async attach(volume, access) {
      ways.set(volume.id, new Set(ways.get(volume.id)).add(access.nodeId));
      return inner.attach(volume, access);
    },
    async detach(volume, nodeId) {
      ways.get(volume.id)?.delete(nodeId);
      return inner.detach(volume, nodeId);
    },
  };
}
