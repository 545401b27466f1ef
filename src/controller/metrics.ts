import { createCalls, sample, type Metric } from '../lib/metrics.ts';
import { createObserve, type Tracer } from '../tracing/trace.ts';
import type { RefusalReason, RefusedNode } from './kubernetes/compare.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Creates the controller's metrics, all at zero, and spans if there is a tracer. Labels are names of RPCs, operations
 * and codes, never an id, a path or a message.
 */
export function createMetrics(tracer?: Tracer) {
  const rpcs = createCalls('fairlead_controller_rpc', 'RPCs');
  const calls = createCalls('fairlead_controller_gateway_call', 'gateway calls with all retries');
  let refused: Readonly<Record<RefusalReason, number>> = { 'foreign-id': 0, 'second-key': 0 };
  const showRefused = (): Metric => ({
    name: 'fairlead_controller_refused_nodes',
    help: 'Nodes that are not reported to the gateway, by reason.',
    type: 'gauge',
    samples: Object.entries(refused).map(([reason, count]) => sample({ reason }, count)),
  });
  return {
    observeRpc: createObserve({ count: rpc => rpcs.start(`rpc="${rpc}"`), kind: 'server', tracer }),
    /** Observes gateway calls by the API's operation id. */
    observeCall: createObserve({
      count: operation => calls.start(`operation="${operation}"`),
      kind: 'client',
      tracer,
    }),
    observeRefused(nodes: readonly RefusedNode[]): void {
      const countOf = (reason: RefusalReason): number => nodes.filter(one => one.reason === reason).length;
      refused = { 'foreign-id': countOf('foreign-id'), 'second-key': countOf('second-key') };
    },
    show: (): readonly Metric[] => [...rpcs.show(), ...calls.show(), showRefused()],
  };
}
