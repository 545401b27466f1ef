import { createCalls, type Metric } from '../lib/metrics.ts';
import { createObserve, type Tracer } from '../lib/tracing/trace.ts';

/** What the controller counts of its work, and records as spans where there is a tracer. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Makes metrics with everything at zero. Labels are names of RPCs, operations and codes: no id, path or message. */
export function createMetrics(tracer?: Tracer) {
  const rpcs = createCalls('fairlead_controller_rpc', 'RPCs');
  const calls = createCalls(
    'fairlead_controller_gateway_call',
    'calls of the gateway, with all of their tries,',
  );
  return {
    observeRpc: createObserve({ count: rpc => rpcs.start(`rpc="${rpc}"`), kind: 'server', tracer }),
    /** By the id of the API's operation. */
    observeCall: createObserve({
      count: operation => calls.start(`operation="${operation}"`),
      kind: 'client',
      tracer,
    }),
    show: (): readonly Metric[] => [...rpcs.show(), ...calls.show()],
  };
}
