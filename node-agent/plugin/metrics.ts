import {
  createCalls,
  createCounter,
  createHistogram,
  renderMetrics,
  type Metric,
} from '../../src/lib/metrics.ts';
import type { Observe } from '../../src/lib/tracing/trace.ts';
import type { Host } from '../host.ts';
import type { ObservePhase } from '../host/phases.ts';

/** What the agent counts of its work. Labels are names of RPCs, codes, phases and commands alone: no id, path or message. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Makes metrics with everything at zero. */
export function createMetrics() {
  const rpcs = createCalls('fairlead_node_rpc', 'RPCs');
  const [failures, phases, commands] = [createCounter(), createHistogram(), createHistogram()];
  const observeRpc: Observe = (rpc, traceparent) => ({ traceparent, end: rpcs.start(`rpc="${rpc}"`) });
  const observePhase: ObservePhase = phase => {
    const ended = phases.start();
    return outcome => ended(`phase="${phase}",outcome="${outcome}"`);
  };
  return {
    observeRpc,
    observePhase,
    /** The same host; counts by its name how long each command takes. */
    observeHost: (host: Host): Host => ({
      ...host,
      async run(command, args, options) {
        const ended = commands.start();
        const result = await host.run(command, args, options);
        ended(`command="${command}"`);
        // A status may be a failure or an answer, as the RPC's code says.
        const how = result.timedOut ? 'timeout' : (result.fault ?? 'killed');
        if (result.status === undefined) failures.count(`command="${command}",how="${how}"`);
        return result;
      },
    }),
    /** Everything, and `more`, in the Prometheus text format, version 0.0.4. */
    render: (more: readonly Metric[]): string =>
      renderMetrics([
        ...rpcs.show(),
        phases.show('fairlead_node_phase_duration_seconds', 'How long attaching and mounting took.'),
        commands.show('fairlead_node_command_duration_seconds', 'How long commands took.'),
        failures.show('fairlead_node_command_failures_total', 'Commands without an exit status, by why.'),
        ...more,
      ]),
  };
}
