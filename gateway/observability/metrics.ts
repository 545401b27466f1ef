import { createCalls, createCounter, createHistogram, type Metric } from '../../src/lib/metrics.ts';
import { createObserve, type Observe, type Tracer } from '../../src/lib/tracing/trace.ts';

/** What the gateway counts of its work, and records as spans where there is a tracer. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Makes metrics with everything at zero. Labels are names of operations, methods, codes and pools: no id, path or message. */
export function createMetrics(tracer?: Tracer) {
  const requests = createCalls('fairlead_gateway_request', 'requests');
  const backendCalls = createCalls('fairlead_gateway_backend_call', 'calls of backends');
  const storeCalls = createCalls('fairlead_gateway_store_call', 'reads and transactions of the store');
  const [refusedTokens, waits] = [createCounter(), createHistogram()];
  return {
    /** By the operation's id. */
    observeRequest: createObserve({
      count: operation => requests.start(`operation="${operation}"`),
      kind: 'server',
      tracer,
    }),
    /** By the backend's method. */
    observeBackend: (pool: string): Observe =>
      createObserve({
        count: method => backendCalls.start(`pool="${pool}",method="${method}"`),
        kind: 'internal',
        tracer,
        prefix: `${pool} `,
      }),
    /** Begins a read or a transaction; what is returned ends it. */
    observeStore: (kind: 'read' | 'transaction') => storeCalls.start(`kind="${kind}"`),
    /** Begins to wait for a turn at a pool; what is returned ends it. */
    startWait: waits.start,
    countRefusedToken: (reason: string): void => refusedTokens.count(`reason="${reason}"`),
    show: (): readonly Metric[] => [
      ...requests.show(),
      ...backendCalls.show(),
      ...storeCalls.show(),
      waits.show(
        'fairlead_gateway_queue_wait_seconds',
        'How long operations waited for their turn at a pool.',
      ),
      refusedTokens.show('fairlead_gateway_refused_tokens_total', 'Tokens that were refused, by why.'),
    ],
  };
}
