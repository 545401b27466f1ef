import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestContext } from 'node:test';
import type { Backend } from '../../../gateway/backend.ts';
import type { Step } from '../../../gateway/operations/operation.ts';
import { createFaultyBackend } from '../../fakes/faulty-backend.ts';
import { wrapBackend, type CallWrapper } from '../../fakes/faulty-backend/wrap.ts';
import { changing, type Rule } from '../../fakes/faulty-backend/rules.ts';
import { clusters, openGateway, type Gateway } from '../gateway.ts';
import { nodeZones } from './model.ts';
import type { ModelStorage } from './storage.ts';

/** Thrown where the gateway dies: nothing is recorded after that. */
export const crash = new Error('the gateway died');

/** Longer than any other fault delays a call to the storage, in milliseconds. */
const patienceMs = 60;

/** Rules under which everything fails occasionally. */
const everyRule: readonly Rule[] = [
  { on: 'all', chance: 0.08, fault: 'fail' },
  { on: 'all', chance: 0.08, fault: 'lost-answer' },
  { on: 'all', chance: 0.04, fault: 'fail-after' },
  { on: 'all', chance: 0.04, fault: 'locked' },
  { on: 'all', chance: 0.04, fault: 'busy' },
  { on: changing, chance: 0.01, fault: 'hang' },
  { on: 'all', chance: 0.08, fault: 'wrong-size' },
  { on: 'all', chance: 0.2, fault: 'partial-page' },
  { on: 'all', chance: 0.05, fault: 'latency', minMs: 0, maxMs: 2 },
];

/** A gateway without its listener, with its storage and the watch over it. */
type Life = {
  readonly gateway: Gateway;
  readonly backend: Backend;
  readonly watch: ReturnType<typeof watchHangs>;
};

type WorldOptions = {
  /** The gateways' store, as a value of `--store`. */
  readonly store: string;
  readonly storage: ModelStorage;
  /** The seed of the faults. */
  readonly seed: number;
  /** The rules of the faults; by default everything fails occasionally. */
  readonly rules?: readonly Rule[];
};

/** Two gateways on one store, over one faulty storage. */
export type World = Awaited<ReturnType<typeof openWorld>>;

/** Opens an empty world. */
export async function openWorld(t: TestContext, { store, storage, seed, rules = everyRule }: WorldOptions) {
  const { leaseMs } = storage;
  const armed = new Map<number, Step['point']>();
  let faults = rules;
  let started = 0;

  async function start(at: number): Promise<Life> {
    armed.delete(at);
    // Each life has its own faults.
    const fate = { rules: faults, seed: seed + started++ };
    const backend = await storage.open();
    const watch = watchHangs(backend, inner => createFaultyBackend(inner, fate));
    const checkpoint = ({ point }: Step): void => {
      if (armed.get(at) === point) throw crash;
    };
    const gateway = await openGateway<Backend>(t, { store, backend: watch.backend, leaseMs, checkpoint });
    return { gateway, backend, watch };
  }

  const lives: [Life, Life] = [await start(0), await start(1)];
  const life = (at: number): Life => lives[at === 0 ? 0 : 1];

  /** Drops the gateway, expires its claims, and starts another one. */
  async function restart(at: number): Promise<void> {
    const { gateway, backend, watch } = life(at);
    await gateway.engine.close();
    // The old gateway can no longer record anything.
    watch.end();
    await backend.close?.();
    await sleep(leaseMs + 5);
    lives[at] = await start(at);
  }

  for (const [id, zone] of Object.entries(nodeZones))
    await life(0).gateway.nodes.put(clusters.a, id, { topology: { zone } });
  return {
    storage,
    gateway: (at: number): Gateway => life(at).gateway,
    /** Returns a gateway's backend without faults. */
    backend: (at: number): Backend => life(at).backend,
    restart,
    /** Returns the outcome of the work, or throws `crash` if a call of this gateway to the storage hangs forever. */
    unlessHung: <T>(at: number, work: Promise<T>): Promise<T> => Promise.race([work, life(at).watch.hung]),
    isHung: (at: number): boolean => life(at).watch.isHung(),
    /** Makes the gateway die when its work reaches this point next. */
    crashAt: (at: number, point: Step['point']): void => void armed.set(at, point),
    /** Ends all faults. */
    async calm(): Promise<void> {
      faults = [];
      await storage.calm?.();
      await Promise.all([restart(0), restart(1)]);
    },
    async close(): Promise<void> {
      for (const { gateway, backend } of lives) {
        await gateway.engine.close();
        await backend.close?.();
      }
    },
  };
}

type Call = { reached: boolean; dead: boolean };

/** Adds faults to a storage and watches for calls that never end; such a call has no further effect. */
function watchHangs(storage: Backend, faulty: (inner: Backend) => Backend) {
  const current = new AsyncLocalStorage<Call>();
  const ended = Promise.withResolvers<never>();
  const hung = Promise.withResolvers<never>();
  for (const { promise } of [ended, hung]) promise.catch(() => {});
  let isHung = false;

  const inside: CallWrapper = {
    async call(_called, run) {
      const call = current.getStore();
      if (call?.dead) throw crash;
      if (call) call.reached = true;
      return run();
    },
    stream: (_called, run) => run(),
  };
  const outside: CallWrapper = {
    async call(_called, run) {
      const call: Call = { reached: false, dead: false };
      const timer = setTimeout(() => {
        if (call.reached) return;
        call.dead = true;
        isHung = true;
        hung.reject(crash);
      }, patienceMs);
      try {
        return await current.run(call, () => Promise.race([run(), ended.promise]));
      } finally {
        clearTimeout(timer);
      }
    },
    stream: (_called, run) => run(),
  };
  return {
    backend: wrapBackend(faulty(wrapBackend(storage, inside)), outside),
    /** Rejects with `crash` as soon as a call does not reach the storage. */
    hung: hung.promise,
    isHung: () => isHung,
    /** Ends the hanging calls, so that nothing of this life continues. */
    end: () => ended.reject(crash),
  };
}
