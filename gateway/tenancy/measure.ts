/** Over how much of what requests were thought to take that is measured, in milliseconds. */
const windowMs = 32;
/** What a measurement counts beside those before it, and how much more than was thought requests take at most. */
const weight = 1 / 4;
const most = 4;

/**
 * Measures how much longer than was thought requests keep the event loop, waits for the store's disk included. `readActiveMs`
 * tells how long the loop was at work since the start; where a runtime does not tell, requests take what was thought.
 */
export function createMeasure(readActiveMs = activeMs) {
  let [thoughtMs, knownMs, times, lastMs] = [0, 0, 1, readActiveMs()];

  function learn(): void {
    const nowMs = readActiveMs();
    const taken = (nowMs - lastMs - knownMs) / thoughtMs;
    times += (Math.min(Math.max(taken, 1), most) - times) * weight;
    [thoughtMs, knownMs, lastMs] = [0, 0, nowMs];
  }

  return {
    /** Counts a request that is thought to take so long; gives what such a one takes, which is never less. */
    charge(costMs: number): number {
      thoughtMs += costMs;
      if (thoughtMs >= windowMs) learn();
      return costMs * times;
    },
    /** So much was no request's, but work that is measured by itself. */
    exclude: (ms: number): void => void (knownMs += ms),
  };
}

function activeMs(): number {
  // Absent in runtimes other than Node.js.
  // By its name alone workerd refuses to call it.
  return (performance as object as Runtime).eventLoopUtilization?.().active ?? 0;
}

type Runtime = { readonly eventLoopUtilization?: () => { readonly active: number } };
