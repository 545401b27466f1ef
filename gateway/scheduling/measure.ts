/** Estimated time after which the estimate is corrected, in ms. */
const windowMs = 32;
/** The weight of a new measurement, and the maximum factor between estimate and measurement. */
const weight = 1 / 4;
const maxFactor = 4;

/**
 * Measures how much longer than estimated requests keep the event loop, including waits for the store's disk.
 * `readActiveMs` returns the time that the loop has worked since the start. In a runtime that does not tell,
 * the estimate is used.
 */
export function createMeasure(readActiveMs = activeMs) {
  let [estimatedMs, excludedMs, factor, lastMs] = [0, 0, 1, readActiveMs()];

  function learn(): void {
    const nowMs = readActiveMs();
    const measured = (nowMs - lastMs - excludedMs) / estimatedMs;
    factor += (Math.min(Math.max(measured, 1), maxFactor) - factor) * weight;
    [estimatedMs, excludedMs, lastMs] = [0, 0, nowMs];
  }

  return {
    /** Adds a request with its estimated time. Returns the measured time of such requests, which is never less. */
    charge(costMs: number): number {
      estimatedMs += costMs;
      if (estimatedMs >= windowMs) learn();
      return costMs * factor;
    },
    /** Excludes time of work that is measured separately. */
    exclude: (ms: number): void => void (excludedMs += ms),
  };
}

function activeMs(): number {
  // Only Node.js has it, and workerd throws unless it is called as a method.
  return (performance as object as Runtime).eventLoopUtilization?.().active ?? 0;
}

type Runtime = { readonly eventLoopUtilization?: () => { readonly active: number } };
