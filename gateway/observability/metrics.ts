import { createCalls, createCounter, createHistogram, type Metric } from '../../src/lib/metrics.ts';
import { createObserve, type Observer, type Tracer } from '../../src/tracing/trace.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Creates the gateway's metrics, all at zero, and spans if there is a tracer. Labels are names of operations,
 * methods, codes and pools, never an id, a path or a message.
 */
export function createMetrics(tracer?: Tracer) {
  const requests = createCalls('fairlead_gateway_request', 'requests');
  const backendCalls = createCalls('fairlead_gateway_backend_call', 'backend calls');
  const storeCalls = createCalls('fairlead_gateway_store_call', 'store reads and transactions');
  const [refusedTokens, waits] = [createCounter(), createHistogram()];
  return {
    observeRequest: createObserve({
      count: operation => requests.start(`operation="${operation}"`),
      kind: 'server',
      tracer,
    }),
    observeBackend: (pool: string): Observer =>
      createObserve({
        count: method => backendCalls.start(`pool="${pool}",method="${method}"`),
        kind: 'internal',
        tracer,
        prefix: `${pool} `,
      }),
    /** Begins a read or a transaction; call the result at its end. */
    observeStore: (kind: 'read' | 'transaction') => storeCalls.start(`kind="${kind}"`),
    /** Begins a wait for a slot at a pool; call the result at its end. */
    startWait: waits.start,
    countRefusedToken: (reason: string): void => refusedTokens.count(`reason="${reason}"`),
    show: (): readonly Metric[] => [
      ...requests.show(),
      ...backendCalls.show(),
      ...storeCalls.show(),
      waits.show('fairlead_gateway_queue_wait_seconds', 'Time that operations waited for a slot at a pool.'),
      refusedTokens.show('fairlead_gateway_refused_tokens_total', 'Refused tokens, by reason.'),
    ],
  };
}
