import { asProblem, whileObserved } from '../../src/api/problem.ts';
import type { Observer } from '../../src/tracing/trace.ts';
import type { Backend } from '../backend.ts';
import { currentRequest, withRequest } from '../scheduling/current-request.ts';
import { wrapCalls } from '../pools/backend-proxy.ts';
import type { Queues } from '../scheduling/queues.ts';
import type { Engine } from '../store.ts';
import type { Metrics } from './metrics.ts';

/**
 * Wraps a backend so that each call is observed by its method. Requests that the call makes to other systems belong
 * to its span.
 */
export function observeBackend(backend: Backend, observe: Observer): Backend {
  return wrapCalls(backend, ({ method }, run) => {
    const request = currentRequest();
    const observed = observe(method, request?.traceparent);
    const { traceparent } = observed;
    const isSame = !request || traceparent === request.traceparent;
    return whileObserved(observed, isSame ? run : () => withRequest({ ...request, traceparent }, run));
  });
}

/** Wraps an engine so that its reads and transactions are counted. */
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

/** Wraps the queues so that the time of each wait is counted. */
export function observeQueues(queues: Queues, startWait: Metrics['startWait']): Queues {
  return {
    ...queues,
    async wait(request, goneProblem) {
      const ended = startWait();
      try {
        return await queues.wait(request, goneProblem);
      } finally {
        ended(`pool="${request.pool}"`);
      }
    },
  };
}
