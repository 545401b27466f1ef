import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ExportedAttachment } from '../../../gateway/export.ts';
import type { openExport } from '../../../gateway/exports/index.ts';
import { seed } from '../../harness/sample.ts';
import { clear, type Live } from './ended.ts';

/** When a gateway is killed that changes something: before the change is begun, or while it is made. */
export const moments = ['before', 'meanwhile'] as const;

/** What a gateway does, and at which of its changes it is killed. */
export type Plan = {
  readonly settings: Parameters<typeof openExport>[0];
  readonly root: string;
  readonly poolKey: string;
  readonly attached: readonly ExportedAttachment[];
  /** Counts changes alone that threads make beside each other. */
  readonly isBeside?: boolean;
  readonly step: number;
  readonly moment: (typeof moments)[number];
};

/**
 * What gateways do that are killed, and when; at one of how many changes, by the seed; the next gateway, what is then left, what
 * removes the rest that may stay, and a directory of programs that they start.
 */
type Kills = Omit<Plan, 'step' | 'moment'> & {
  readonly when?: readonly Plan['moment'][];
  readonly every?: number;
  readonly next: () => Live;
  readonly left: () => readonly unknown[];
  readonly reset?: () => void;
  readonly programs?: string;
};

const never = -1;
const gateway = fileURLToPath(new URL('killed-gateway.ts', import.meta.url));

/**
 * Has processes publish and withdraw, each killed at a change of the machine, until there are no more, and after each the next
 * gateway clear what is there; asserts that then nothing is left. How many were killed, and how many of them in the middle of
 * a change.
 */
export async function playKills({ when = moments, every = 1, programs, ...kills }: Kills) {
  const { next, left, reset = () => {}, ...work } = kills;
  // Only one that ends by itself leaves the others what was compiled.
  assert.equal(run({ ...work, step: never, moment: 'before' }, programs), 'done');
  reset();
  const counts = { kills: 0, underWay: 0 };
  for (let round = 0; ; round++)
    for (const [index, moment] of when.entries()) {
      const step = (seed % every) + round * every;
      const outcome = run({ ...work, step, moment }, programs);
      if (outcome === 'done') return counts;
      counts.kills++;
      if (moment === 'meanwhile' && outcome === 'killed') counts.underWay++;
      await clear(next(), work.attached, round + index);
      assert.deepEqual(left(), [], `${moment} step ${step}`);
      reset();
    }
}

/** How a process ended: all done, or killed, which it says where the change was over. */
function run(plan: Plan, programs?: string): 'done' | 'killed' | 'over' {
  const path = [programs, process.env['PATH']].filter(part => part !== undefined).join(':');
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', gateway, JSON.stringify(plan)],
    { encoding: 'utf8', env: { ...process.env, PATH: path } },
  );
  if (status === 0) return 'done';
  assert.equal(signal, 'SIGKILL', `${plan.moment} step ${plan.step}: ${status} ${stderr}`);
  return stdout === 'over' ? 'over' : 'killed';
}
