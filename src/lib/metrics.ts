import { readdirSync } from 'node:fs';

type Sample = readonly [key: string, value: number];

/** One metric of the Prometheus text format, and its samples; a key follows the name: '' or `{label="value"}`. */
export type Metric = {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly samples: Iterable<Sample>;
};

/** A metric that is read when it is asked for: a counter when its name ends in `_total`, else a gauge. */
export type Row = readonly [name: string, help: string, value: number | Metric['samples']];

const boundsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, Infinity];

/** All of them in the Prometheus text format, version 0.0.4. */
export function renderMetrics(metrics: readonly Metric[]): string {
  return `${metrics.flatMap(renderMetric).join('\n')}\n`;
}

function renderMetric({ name, type, help, samples }: Metric): readonly string[] {
  const lines = Array.from(samples, ([key, value]) => `${name}${key} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

/** The rows, and what every process tells of itself. */
export function readRows(rows: readonly Row[]): readonly Metric[] {
  const { user, system } = process.cpuUsage();
  const ofProcess: readonly Row[] = [
    ['process_resident_memory_bytes', 'Resident memory.', process.memoryUsage.rss()],
    ['process_open_fds', 'Open file descriptors.', readdirSync('/proc/self/fd').length - 1],
    ['process_cpu_seconds_total', 'Time spent on a processor.', (user + system) / 1_000_000],
    ['process_start_time_seconds', 'When the process started.', performance.timeOrigin / 1_000],
  ];
  return [...rows, ...ofProcess].map(([name, help, value]): Metric => {
    const type = name.endsWith('_total') ? 'counter' : 'gauge';
    return { name, help, type, samples: typeof value === 'number' ? [['', value]] : value };
  });
}

/** One sample with these labels. */
export function sample(labels: Readonly<Record<string, string>>, value: number | boolean): Sample {
  // JSON has the escapes of a label's value: of quotes, backslashes and line ends.
  const all = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`);
  return [`{${all.join(',')}}`, Number(value)];
}

/** Counts by labels, such as `rpc="Probe"`. */
export function createCounter() {
  const values = new Map<string, number>();
  return {
    count(labels: string): void {
      const key = `{${labels}}`;
      values.set(key, (values.get(key) ?? 0) + 1);
    },
    show: (name: string, help: string): Metric => ({ name, help, type: 'counter', samples: values }),
  };
}

const newSeries = () => ({ counts: boundsSeconds.map(() => 0), sumSeconds: 0 });

/** Counts durations by labels. */
export function createHistogram() {
  const series = new Map<string, ReturnType<typeof newSeries>>();
  function add(labels: string, seconds: number): void {
    const found = series.getOrInsertComputed(labels, newSeries);
    found.sumSeconds += seconds;
    const index = boundsSeconds.findIndex(bound => seconds <= bound);
    found.counts[index] = (found.counts[index] ?? 0) + 1;
  }
  return {
    add,
    /** Begins to measure; what is returned ends it. */
    start() {
      const startMs = performance.now();
      return (labels: string): void => add(labels, (performance.now() - startMs) / 1_000);
    },
    show(name: string, help: string): Metric {
      const samples = [...series].flatMap(([labels, { counts, sumSeconds }]) => {
        let count = 0;
        const buckets = boundsSeconds.map((bound, index): Sample => {
          const le = bound === Infinity ? '+Inf' : bound;
          return [`_bucket{${labels},le="${le}"}`, (count += counts[index] ?? 0)];
        });
        buckets.push([`_sum{${labels}}`, sumSeconds], [`_count{${labels}}`, count]);
        return buckets;
      });
      return { name, help, type: 'histogram', samples };
    },
  };
}

/** Counts calls of a kind, such as `fairlead_node_rpc`: how long they took, and how many ended with which code. */
export function createCalls(kind: string, what: string) {
  const durations = createHistogram();
  const outcomes = new Map<string, Map<string, number>>();
  return {
    /** Begins a call with these labels; what is returned ends it. */
    start(labels: string) {
      const end = durations.start();
      return (code: string): void => {
        end(labels);
        const counts = outcomes.getOrInsertComputed(labels, () => new Map<string, number>());
        counts.set(code, (counts.get(code) ?? 0) + 1);
      };
    },
    show(): readonly Metric[] {
      const samples = [...outcomes].flatMap(([labels, counts]) =>
        [...counts].map(([code, count]): Sample => [`{${labels},code="${code}"}`, count]),
      );
      return [
        durations.show(`${kind}_duration_seconds`, `How long ${what} took.`),
        { name: `${kind}s_total`, help: `How many ${what} ended, by code.`, type: 'counter', samples },
      ];
    },
  };
}
