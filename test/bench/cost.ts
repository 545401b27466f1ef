import { readCpuMs } from './processes.ts';
import { forEach } from './volume.ts';
import { median } from '../harness/values.ts';

const warmUpRounds = 4;
const rounds = 12;

/** The number of rounds of a measurement, with its warm-up. */
export const allRounds = warmUpRounds + rounds;

/** Work in these processes, which is repeated with another index each time. */
export type Work = { readonly pids: readonly number[]; readonly run: (index: number) => Promise<unknown> };

/** The mean CPU time of one run of a work, and its median time on the clock, in milliseconds. */
type Cost = { readonly cpuMs: number; readonly ms: number };

/** Measures the cost of both works after a warm-up; alternates them, so that noise affects both. */
export async function measureAlternately(
  works: readonly [Work, Work],
  { perRound, concurrency }: { readonly perRound: number; readonly concurrency: number },
): Promise<readonly [Cost, Cost]> {
  const samples: [Cost[], Cost[]] = [[], []];
  for (let round = 0; round < allRounds; round++)
    for (const [which, { pids, run }] of works.entries()) {
      const [beforeMs, startMs] = [readCpuMs(pids), performance.now()];
      await forEach({ from: round * perRound, to: (round + 1) * perRound, concurrency }, run);
      const ms = (performance.now() - startMs) / perRound;
      samples[which]?.push({ cpuMs: (readCpuMs(pids) - beforeMs) / perRound, ms });
    }
  return [summarize(samples[0]), summarize(samples[1])];
}

function summarize(samples: readonly Cost[]): Cost {
  const measured = samples.slice(warmUpRounds);
  return {
    cpuMs: measured.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / rounds,
    ms: median(measured.map(({ ms }) => ms)),
  };
}
