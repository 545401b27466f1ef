/** The maximum delay of a timer, in milliseconds. A timer with a longer one would fire at once. */
export const maxTimerMs = 2 ** 31 - 1;

/** Returns the largest number, at least `min`. Unlike `Math.max`, it takes a list of any length. */
export function maxOf(values: Iterable<number>, min = -Infinity): number {
  let largest = min;
  for (const value of values) largest = Math.max(largest, value);
  return largest;
}

/** Returns the smallest number, at most `max`. Unlike `Math.min`, it takes a list of any length. */
export function minOf(values: Iterable<number>, max = Infinity): number {
  let smallest = max;
  for (const value of values) smallest = Math.min(smallest, value);
  return smallest;
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A duration such as 250ms, 30s, 5m or 1h, in milliseconds. */
export function durationMs(value: string): number {
  const ms = readAmount(value, unitMs);
  if (ms > maxTimerMs) throw new Error(`"${value}" is longer than the maximum of 24 days`);
  if (Number.isNaN(ms)) throw new Error(`"${value}" is not a duration such as 250ms, 30s, 5m or 1h`);
  return ms;
}

/** A duration without a timer, which may have days such as 90d, in milliseconds. */
export function longDurationMs(value: string): number {
  const ms = readAmount(value, { ...unitMs, d: 86_400_000 });
  if (Number.isSafeInteger(ms)) return ms;
  throw new Error(`"${value}" is not a duration such as 30m, 12h or 90d`);
}

const unitBytes = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };

/** A number of bytes such as 4096, 512Mi or 10Gi. */
export function bytes(value: string): number {
  const number = readAmount(value, unitBytes);
  if (Number.isSafeInteger(number)) return number;
  throw new Error(`"${value}" is not a number of bytes such as 4096, 512Mi or 10Gi`);
}

/** A number of bytes in the units of Kubernetes, which has decimal ones, too: 10G is less than 10Gi. */
export function kubernetesBytes(value: string): number {
  const number = readAmount(value, { ...unitBytes, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 });
  if (Number.isSafeInteger(number)) return number;
  throw new Error(`"${value}" is not a number of bytes such as 4096, 10Gi or 10G`);
}

/** A whole number of units; NaN for any other text. */
function readAmount(value: string, units: Readonly<Record<string, number>>): number {
  const [, digits, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(value) ?? [];
  return Object.hasOwn(units, unit) ? Number(digits) * (units[unit] ?? Number.NaN) : Number.NaN;
}

/** Makes a reader of a measure that always moves a little. Only a change of one percent counts. */
export async function createSteadyReader(read: () => Promise<number>): Promise<() => Promise<number>> {
  let last = await read();
  return async () => {
    const now = await read();
    if (Math.abs(now - last) > last / 100) last = now;
    return last;
  };
}
