import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';
import { readThreadCpuMs } from '../thread-clock.ts';

/** The CPU time of time slices of the event loop, in milliseconds. */
export type SliceTimes = {
  readonly maxMs: number;
  /** The longest time slice without the end of a full garbage collection. */
  readonly plainMs: number;
  /** The longest of 99 % of the time slices that did some work. */
  readonly usualMs: number;
};

type TimeSlice = { readonly startMs: number; readonly endMs: number; readonly cpuMs: number };

/** A shorter time slice only checked for work. */
const idleMs = 0.1;
let slices: TimeSlice[] | undefined;
/** The start times of full collections. */
const collectedMs: number[] = [];
let last = { startMs: 0, cpuMs: 0 };

new PerformanceObserver(seen => {
  for (const entry of seen.getEntries()) if (isFull(entry)) collectedMs.push(entry.startTime);
}).observe({ entryTypes: ['gc'] });

// Loaded before the program; the parent process says when to measure.
process.on('message', (message: unknown) => {
  const measured = slices;
  // The collections of the last time slices are reported after them.
  if (message === 'end') setTimeout(() => process.send?.(summarize(measured ?? [])), 100);
  slices = message === 'begin' ? [] : undefined;
  last = { startMs: performance.now(), cpuMs: readThreadCpuMs() };
  if (slices) setImmediate(measureSlice);
});
process.channel?.unref();

function measureSlice(): void {
  if (!slices) return;
  const now = { startMs: performance.now(), cpuMs: readThreadCpuMs() };
  const cpuMs = now.cpuMs - last.cpuMs;
  if (cpuMs > idleMs) slices.push({ startMs: last.startMs, endMs: now.startMs, cpuMs });
  last = now;
  setImmediate(measureSlice);
}

function isFull(entry: PerformanceEntry): boolean {
  // The entry's type lacks this field.
  const { kind } = Reflect.get(entry, 'detail') as { readonly kind: number };
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

function summarize(measured: readonly TimeSlice[]): SliceTimes {
  const sorted = measured.toSorted((one, other) => one.cpuMs - other.cpuMs);
  const plain = sorted.findLast(
    ({ startMs, endMs }) => !collectedMs.some(atMs => atMs >= startMs && atMs < endMs),
  );
  return {
    maxMs: sorted.at(-1)?.cpuMs ?? 0,
    plainMs: plain?.cpuMs ?? 0,
    usualMs: sorted[Math.floor(sorted.length * 0.99)]?.cpuMs ?? 0,
  };
}
