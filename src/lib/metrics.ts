import { readdirSync } from 'node:fs';

type Sample = readonly [key: string, value: number];

/** A metric of the Prometheus text format. A sample's key follows the metric's name: '' or `{label="value"}`. */
export type Metric = {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly samples: Iterable<Sample>;
};

/** A metric that is read at each request: a counter if its name ends in `_total`, else a gauge. */
export type Row = readonly [name: string, help: string, value: number | Metric['samples']];

const samplesPerStep = 100;
const boundsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, Infinity];

/** Renders metrics in the Prometheus text format, version 0.0.4. */
export function renderMetrics(metrics: readonly Metric[]): string {
  const steps = renderInSteps(metrics);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Renders like `renderMetrics`, in steps of at most `samplesPerStep` samples. */
export function* renderInSteps(metrics: readonly Metric[]): Generator<void, string> {
  const lines: string[] = [];
  for (const { name, type, help, samples } of metrics) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const [key, value] of samples) {
      lines.push(`${name}${key} ${value}`);
      if (lines.length % samplesPerStep === 0) yield;
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Converts rows to metrics, and adds the metrics of the process itself. */
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

export function sample(labels: Readonly<Record<string, string>>, value: number | boolean): Sample {
  // A label's value has the same escapes as JSON: for quotes, backslashes and line ends.
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

function* samplesOf(series: ReadonlyMap<string, ReturnType<typeof newSeries>>): Generator<Sample> {
  for (const [labels, { counts, sumSeconds }] of series) {
    let count = 0;
    for (const [index, bound] of boundsSeconds.entries()) {
      const le = bound === Infinity ? '+Inf' : bound;
      yield [`_bucket{${labels},le="${le}"}`, (count += counts[index] ?? 0)];
    }
    yield [`_sum{${labels}}`, sumSeconds];
    yield [`_count{${labels}}`, count];
  }
}

export function createHistogram() {
  const series = new Map<string, ReturnType<typeof newSeries>>();
  function add(labels: string, seconds: number): void {
    const found = series.getOrInsertComputed(labels, newSeries);
    found.sumSeconds += seconds;
    let index = 0;
    while (seconds > (boundsSeconds[index] ?? Infinity)) index++;
    found.counts[index] = (found.counts[index] ?? 0) + 1;
  }
  return {
    add,
    /** Begins a measurement; call the result at its end. */
    start() {
      const startMs = performance.now();
      return (labels: string): void => add(labels, (performance.now() - startMs) / 1_000);
    },
    show(name: string, help: string): Metric {
      return { name, help, type: 'histogram', samples: { [Symbol.iterator]: () => samplesOf(series) } };
    },
  };
}

/** Counts calls of a kind, such as `fairlead_node_rpc`: their durations, and their number by code. */
export function createCalls(kind: string, noun: string) {
  const durations = createHistogram();
  const outcomes = new Map<string, Map<string, number>>();
  return {
    /** Begins a call with these labels; call the result at its end. */
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
        durations.show(`${kind}_duration_seconds`, `Duration of ${noun}.`),
        { name: `${kind}s_total`, help: `Number of ended ${noun}, by code.`, type: 'counter', samples },
      ];
    },
  };
}
