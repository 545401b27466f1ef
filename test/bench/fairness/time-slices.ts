import { dlopen } from 'node:ffi';

/** The CPU time of time slices of the event loop, in milliseconds. */
export type SliceTimes = {
  readonly maxMs: number;
  /** The longest of 99 % of the time slices that did some work. */
  readonly usualMs: number;
};

/** CLOCK_THREAD_CPUTIME_ID. For a running thread, getrusage is as old as the kernel's last tick: 4 ms at 250 Hz. */
const threadClock = 3;
const { clock_gettime: readClock } = dlopen('libc.so.6', {
  clock_gettime: { arguments: ['i32', 'buffer'], return: 'i32' },
}).functions;
const clock = new BigInt64Array(2);
const clockBytes = Buffer.from(clock.buffer);

function readThreadCpuMs(): number {
  readClock(threadClock, clockBytes);
  return Number(clock[0]) * 1_000 + Number(clock[1]) / 1e6;
}

/** A shorter time slice only checked for work. */
const idleMs = 0.1;
let slices: number[] | undefined;
let lastMs = 0;

// Loaded before the program; each message of the parent process begins or ends a measurement.
process.on('message', () => {
  const sorted = slices?.toSorted((one, other) => one - other);
  slices = sorted ? undefined : [];
  lastMs = readThreadCpuMs();
  if (slices) setImmediate(measureSlice);
  const usualMs = sorted?.[Math.floor(sorted.length * 0.99)] ?? 0;
  process.send?.({ maxMs: sorted?.at(-1) ?? 0, usualMs } satisfies SliceTimes);
});
process.channel?.unref();

function measureSlice(): void {
  if (!slices) return;
  const nowMs = readThreadCpuMs();
  if (nowMs - lastMs > idleMs) slices.push(nowMs - lastMs);
  lastMs = nowMs;
  setImmediate(measureSlice);
}
