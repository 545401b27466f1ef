import { AsyncLocalStorage } from 'node:async_hooks';
import type { Backend } from '../../../../gateway/backend.ts';
import { wrapBackend, type Around } from '../../../fakes/faulty-backend/wrap.ts';

/** Thrown where the gateway dies: nothing is recorded after that. */
export const crash = new Error('the gateway died');

/** Longer than any other fault keeps a call from the storage, in milliseconds. */
const patienceMs = 60;

/** The storage of one life of a gateway. */
export interface HangWatch {
  readonly backend: Backend;
  /** Fails with `crash` as soon as a call does not get to the storage. */
  readonly hung: Promise<never>;
  isHung(): boolean;
  /** Ends the calls that hang, so that nothing of the life goes on. */
  end(): void;
}

type Call = { reached: boolean; dead: boolean };

/** Lays faults around a storage, and tells of the calls that never end. One that does can no longer do anything. */
export function watchHangs(storage: Backend, layFaults: (inner: Backend) => Backend): HangWatch {
  const current = new AsyncLocalStorage<Call>();
  const ended = Promise.withResolvers<never>();
  const hung = Promise.withResolvers<never>();
  for (const { promise } of [ended, hung]) promise.catch(() => {});
  let isHung = false;

  const inside: Around = {
    async call(_called, run) {
      const call = current.getStore();
      if (call?.dead) throw crash;
      if (call) call.reached = true;
      return run();
    },
    stream: (_called, run) => run(),
  };
  const outside: Around = {
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
    backend: wrapBackend(layFaults(wrapBackend(storage, inside)), outside),
    hung: hung.promise,
    isHung: () => isHung,
    end: () => ended.reject(crash),
  };
}
