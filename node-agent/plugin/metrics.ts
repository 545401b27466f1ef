import type { ObserveRpc } from '../../src/csi/call.ts';
import type { Host } from '../host.ts';
import type { ObservePhase } from '../host/phases.ts';

/** One metric of the Prometheus text format, and its samples; a key follows the name: '' or `{label="value"}`. */
export type Metric = {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly samples: Iterable<readonly [key: string, value: number]>;
};

/** What the agent counts of its work. Labels are names of RPCs, codes, phases and commands alone: no id, path or message. */
export type Metrics = ReturnType<typeof createMetrics>;

const boundsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, Infinity];

/** Makes metrics with everything at zero. */
export function createMetrics() {
  const [outcomes, failures] = [createCounter(), createCounter()];
  const [rpcs, phases, commands] = [createHistogram(), createHistogram(), createHistogram()];
  const observeRpc: ObserveRpc = rpc => {
    const ended = rpcs.start();
    return code => {
      outcomes.count(`rpc="${rpc}",code="${code}"`);
      ended(`rpc="${rpc}"`);
    };
  };
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
      [
        ...rpcs.show('fairlead_node_rpc_duration_seconds', 'How long RPCs took.'),
        ...outcomes.show('fairlead_node_rpcs_total', 'RPCs that ended, by gRPC code.'),
        ...phases.show('fairlead_node_phase_duration_seconds', 'How long attaching and mounting took.'),
        ...commands.show('fairlead_node_command_duration_seconds', 'How long commands took.'),
        ...failures.show('fairlead_node_command_failures_total', 'Commands without an exit status, by why.'),
        ...more.flatMap(renderMetric),
        '',
      ].join('\n'),
  };
}

function renderMetric({ name, type, help, samples }: Metric): readonly string[] {
  const lines = Array.from(samples, ([key, value]) => `${name}${key} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

function createCounter() {
  const values = new Map<string, number>();
  return {
    count(labels: string): void {
      const key = `{${labels}}`;
      values.set(key, (values.get(key) ?? 0) + 1);
    },
    show: (name: string, help: string) => renderMetric({ name, help, type: 'counter', samples: values }),
  };
}

function createHistogram() {
  const series = new Map<string, { readonly counts: number[]; sumSeconds: number }>();
  return {
    /** Begins to measure; what is returned ends it. */
    start() {
      const startMs = performance.now();
      return (labels: string): void => {
        const seconds = (performance.now() - startMs) / 1_000;
        const found = series.get(labels) ?? { counts: boundsSeconds.map(() => 0), sumSeconds: 0 };
        series.set(labels, found);
        found.sumSeconds += seconds;
        for (const [index, bound] of boundsSeconds.entries())
          found.counts[index] = (found.counts[index] ?? 0) + Number(seconds <= bound);
      };
    },
    show(name: string, help: string) {
      const samples = [...series].flatMap(([labels, { counts, sumSeconds }]) => {
        const buckets = boundsSeconds.map((bound, index): readonly [string, number] => {
          const le = bound === Infinity ? '+Inf' : bound;
          return [`_bucket{${labels},le="${le}"}`, counts[index] ?? 0];
        });
        return buckets.concat([
          [`_sum{${labels}}`, sumSeconds],
          [`_count{${labels}}`, counts.at(-1) ?? 0],
        ]);
      });
      return renderMetric({ name, help, type: 'histogram', samples });
    },
  };
}
