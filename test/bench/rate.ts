const warmUp = 300;
const calls = 2_000;

/** One call; each has an index of its own. */
export type Work = (index: number) => Promise<unknown>;

/** Calls per second while `concurrency` of them are under way, after a warm-up. */
export async function measureRate(concurrency: number, work: Work): Promise<number> {
  await runAll({ from: 0, to: warmUp, concurrency }, work);
  const startMs = performance.now();
  await runAll({ from: warmUp, to: warmUp + calls, concurrency }, work);
  return (calls / (performance.now() - startMs)) * 1000;
}

type Range = { readonly from: number; readonly to: number; readonly concurrency: number };

async function runAll({ from, to, concurrency }: Range, work: Work): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) await work(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
