import type { ObserveRpc } from '../../src/csi/server.ts';
import type { Host } from '../host.ts';
import type { ObservePhase } from '../host/phases.ts';

/** One line of a metric: its labels as they are written, and its value. */
export type Sample = { readonly labels?: string; readonly value: number };

/** A value that is known when it is asked for. */
export type Gauge = {
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  readonly help: string;
  readonly samples: readonly Sample[];
};

/** What the agent counts of its work. Labels are names of RPCs, codes, phases and commands alone: no id, path or message. */
export interface Metrics {
  readonly observeRpc: ObserveRpc;
  readonly observePhase: ObservePhase;
  /** The same host; how long each command takes is counted by its name. */
  observeHost(host: Host): Host;
  /** Everything in the Prometheus text format, version 0.0.4. */
  render(gauges: readonly Gauge[]): string;
}

const boundsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
/** Series of one metric; what would be one more is counted under `other`. */
const seriesCap = 64;

/** Makes metrics with everything at zero. */
export function createMetrics(): Metrics {
  const outcomes = createCounter();
  const running = createCounter('gauge');
  const rpcs = createHistogram();
  const phases = createHistogram();
  const commands = createHistogram();
  const failures = createCounter();
  return {
    observeRpc(rpc) {
      const startMs = performance.now();
      running.add(`rpc="${rpc}"`, 1);
      return code => {
        running.add(`rpc="${rpc}"`, -1);
        outcomes.add(`rpc="${rpc}",code="${code}"`, 1);
        rpcs.observe(`rpc="${rpc}"`, performance.now() - startMs);
      };
    },
    observePhase(phase) {
      const startMs = performance.now();
      return outcome => phases.observe(`phase="${phase}",outcome="${outcome}"`, performance.now() - startMs);
    },
    observeHost: host => ({
      ...host,
      async run(command, args, options) {
        const startMs = performance.now();
        const result = await host.run(command, args, options);
        commands.observe(`command="${command}"`, performance.now() - startMs);
        const how = howFailed([command, ...args], result);
        if (how !== undefined) failures.add(`command="${command}",how="${how}"`, 1);
        return result;
      },
    }),
    render: gauges =>
      [
        ...described('fairlead_node_rpc_duration_seconds', 'How long RPCs took.', rpcs),
        ...described('fairlead_node_rpcs_total', 'RPCs that ended, by gRPC code.', outcomes),
        ...described('fairlead_node_rpcs_running', 'RPCs that run now.', running),
        ...described(
          'fairlead_node_phase_duration_seconds',
          'How long the phases of attaching and mounting took.',
          phases,
        ),
        ...described('fairlead_node_command_duration_seconds', 'How long commands took.', commands),
        ...described('fairlead_node_command_failures_total', 'Commands that failed, by how.', failures),
        ...gauges.flatMap(renderGauge),
        '',
      ].join('\n'),
  };
}

type Family = Counter | Histogram;

function described(name: string, help: string, family: Family): readonly string[] {
  return [describe(name, family.type, help), ...family.render(name)];
}

type Ended = Awaited<ReturnType<Host['run']>>;

/** Statuses that are an answer, and no failure: nothing found, different, not there, mended, in that state already. */
const answers: Readonly<Record<string, readonly number[]>> = {
  blkid: [2],
  cat: [1],
  cmp: [1],
  e2fsck: [1, 2, 3],
  grep: [1],
  iscsiadm: [15, 21],
  realpath: [1],
  stat: [1],
  test: [1],
  xfs_repair: [1],
};
/** The one that is asked how it is used, which it tells with the status of a failure. */
const asked = 'mkfs.xfs';

/** Undefined for a command that did not fail. */
function howFailed(line: readonly string[], { status, timedOut, missing, fault }: Ended): string | undefined {
  if (timedOut) return 'timeout';
  if (missing) return 'missing';
  if (fault !== undefined) return 'unstarted';
  if (status === undefined) return 'killed';
  const isAnswer = answers[line[0] ?? '']?.includes(status) || line.join(' ') === asked;
  return status === 0 || isAnswer ? undefined : 'status';
}

function renderGauge({ name, type, help, samples }: Gauge): readonly string[] {
  return [
    describe(name, type, help),
    ...samples.map(({ labels, value }) => `${name}${labels ? `{${labels}}` : ''} ${value}`),
  ];
}

function describe(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}`;
}

type Counter = {
  readonly type: 'counter' | 'gauge';
  add(labels: string, amount: number): void;
  render(name: string): readonly string[];
};

function createCounter(type: Counter['type'] = 'counter'): Counter {
  const values = new Map<string, number>();
  return {
    type,
    add(labels, amount) {
      const key = boundedKey(values, labels);
      values.set(key, (values.get(key) ?? 0) + amount);
    },
    render: name => [...values].map(([labels, value]) => `${name}{${labels}} ${value}`),
  };
}

type Histogram = {
  readonly type: 'histogram';
  observe(labels: string, durationMs: number): void;
  render(name: string): readonly string[];
};
type Distribution = { readonly counts: number[]; sumSeconds: number };

function createHistogram(): Histogram {
  const series = new Map<string, Distribution>();
  return {
    type: 'histogram',
    observe(labels, durationMs) {
      const key = boundedKey(series, labels);
      let found = series.get(key);
      if (!found) {
        found = { counts: boundsSeconds.map(() => 0).concat(0), sumSeconds: 0 };
        series.set(key, found);
      }
      const seconds = durationMs / 1_000;
      const index = boundsSeconds.findIndex(bound => seconds <= bound);
      const { counts } = found;
      const at = index < 0 ? boundsSeconds.length : index;
      counts[at] = (counts[at] ?? 0) + 1;
      found.sumSeconds += seconds;
    },
    render: name => [...series].flatMap(([labels, found]) => renderDistribution(name, labels, found)),
  };
}

function renderDistribution(name: string, labels: string, { counts, sumSeconds }: Distribution): string[] {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    return `${name}_bucket{${labels},le="${boundsSeconds[index] ?? '+Inf'}"} ${total}`;
  });
  return [...buckets, `${name}_sum{${labels}} ${sumSeconds}`, `${name}_count{${labels}} ${total}`];
}

function boundedKey(series: ReadonlyMap<string, unknown>, labels: string): string {
  if (series.has(labels) || series.size < seriesCap) return labels;
  return labels.replaceAll(/"[^"]*"/g, '"other"');
}
