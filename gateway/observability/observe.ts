import { asProblem, whileObserved } from '../../src/api/problem.ts';
import type { Observe } from '../../src/lib/tracing/trace.ts';
import type { Backend } from '../backend.ts';
import { currentRequest, withRequest } from '../operations/request.ts';
import { layAround } from '../pools/around.ts';
import type { Queues } from '../pools/queues.ts';
import type { Engine } from '../store.ts';
import type { Metrics } from './metrics.ts';

/** The backend; each of its calls is observed by its method, and what it asks of others is part of that. */
export function observeBackend(backend: Backend, observe: Observe): Backend {
  return layAround(backend, ({ method }, run) => {
    const request = currentRequest();
    const observed = observe(method, request?.traceparent);
    const { traceparent } = observed;
    const isSame = !request || traceparent === request.traceparent;
    return whileObserved(observed, isSame ? run : () => withRequest({ ...request, traceparent }, run));
  });
}

/** The engine; its reads and transactions are counted. */
export function observeEngine(engine: Engine, observe: Metrics['observeStore']): Engine {
  return {
    reader: {
      async all(...query) {
        const end = observe('read');
        try {
          const rows = await engine.reader.all(...query);
          end('OK');
          return rows;
        } catch (error) {
          end(asProblem(error).code);
          throw error;
        }
      },
    },
    transaction: work =>
      whileObserved({ traceparent: undefined, end: observe('transaction') }, () => engine.transaction(work)),
    close: () => engine.close(),
  };
}

/** The queues; how long what has to wait does so is counted. */
export function observeQueues(queues: Queues, startWait: Metrics['startWait']): Queues {
  return {
    ...queues,
    async wait(turn, unwanted) {
      const ended = startWait();
      try {
        return await queues.wait(turn, unwanted);
      } finally {
        ended(`pool="${turn.pool}"`);
      }
    },
  };
}
