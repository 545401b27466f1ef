import {
  createCalls,
  createCounter,
  createHistogram,
  renderMetrics,
  type Metric,
} from '../../src/lib/metrics.ts';
import type { Observer } from '../../src/tracing/trace.ts';
import type { Host } from '../host.ts';
import type { PhaseObserver } from '../host/phases.ts';

/** The agent's counters. Labels are only names of RPCs, codes, phases and commands, never ids, paths or messages. */
export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const rpcs = createCalls('fairlead_node_rpc', 'RPCs');
  const [failures, phases, commands] = [createCounter(), createHistogram(), createHistogram()];
  const observeRpc: Observer = (rpc, traceparent) => ({ traceparent, end: rpcs.start(`rpc="${rpc}"`) });
  const observePhase: PhaseObserver = phase => {
    const ended = phases.start();
    return outcome => ended(`phase="${phase}",outcome="${outcome}"`);
  };
  return {
    observeRpc,
    observePhase,
    /** Wraps a host so that it measures each command by its name. */
    observeHost: (host: Host): Host => ({
      ...host,
      async run(command, args, options) {
        const ended = commands.start();
        const result = await host.run(command, args, options);
        ended(`command="${command}"`);
        // An exit status other than 0 is no failure here: the RPC's code tells whether it was one.
        const how = result.timedOut ? 'timeout' : (result.fault ?? 'killed');
        if (result.status === undefined) failures.count(`command="${command}",how="${how}"`);
        return result;
      },
    }),
    /** Renders all metrics and `more` in the Prometheus text format, version 0.0.4. */
    render: (more: readonly Metric[]): string =>
      renderMetrics([
        ...rpcs.show(),
        phases.show('fairlead_node_phase_duration_seconds', 'Duration of attaching and mounting, by phase.'),
        commands.show('fairlead_node_command_duration_seconds', 'Duration of commands.'),
        failures.show(
          'fairlead_node_command_failures_total',
          'Number of commands without an exit status, by reason.',
        ),
        ...more,
      ]),
  };
}
