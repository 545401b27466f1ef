/** How much CPU one turn of the event loop took, in milliseconds: the longest, and the longest of 99 in 100 that did something. */
export type Turns = { readonly longestMs: number; readonly usualMs: number };

/** A turn that takes less only looked whether there is something to do. */
const idleMs = 0.1;

let turns: number[] | undefined;
let lastMs = 0;

// Loaded before the program: its parent says when to measure.
process.on('message', (message: unknown) => {
  if (message === 'end') process.send?.(summarize(turns?.toSorted((one, other) => one - other) ?? []));
  turns = message === 'begin' ? [] : undefined;
  lastMs = readCpuMs();
  if (turns) setImmediate(turn);
});
process.channel?.unref();

function turn(): void {
  if (!turns) return;
  const nowMs = readCpuMs();
  if (nowMs - lastMs > idleMs) turns.push(nowMs - lastMs);
  lastMs = nowMs;
  setImmediate(turn);
}

function summarize(sorted: readonly number[]): Turns {
  process.stderr.write(
    JSON.stringify([
      sorted.length,
      ...[0.5, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999].map(
        p => +(sorted[Math.floor(sorted.length * p)] ?? 0).toFixed(2),
      ),
      ...sorted.slice(-5),
    ]) + '\n',
  );
  return { longestMs: sorted.at(-1) ?? 0, usualMs: sorted[Math.floor(sorted.length * 0.99)] ?? 0 };
}

function readCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
