import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ExportedAttachment, VolumeKind } from '../../../gateway/export.ts';
import type { anyExport } from '../../../gateway/exports/index.ts';
import { seed } from '../../harness/sample.ts';
import { clear, type Live } from './ended.ts';

/** The moments of a gateway's death: before a change, or during it. */
export const moments = ['before', 'meanwhile'] as const;

/** A gateway's work, and the change that kills it. */
export type Plan = {
  readonly settings: Parameters<typeof anyExport.open>[0];
  readonly root: string;
  readonly kind: VolumeKind;
  readonly poolKey: string;
  readonly attached: readonly ExportedAttachment[];
  /** True counts only changes that threads make concurrently. */
  readonly isBeside?: boolean;
  readonly step: number;
  readonly moment: (typeof moments)[number];
};

/**
 * The work of gateways that are killed, with the moments and the share of changes, chosen by the seed; the next
 * gateway; functions that list the remains and remove the ones that may stay; and a directory of programs that they
 * start.
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
 * Runs a process that publishes and withdraws for each change of the machine and kills it at that change; each time the
 * next gateway clears the remains. Fails if anything is left. Returns the number of kills, and the number of kills in the middle of a change.
 */
export async function playKills({ when = moments, every = 1, programs, ...kills }: Kills) {
  const { next, left, reset = () => {}, ...work } = kills;
  // Only a process that ends by itself leaves a compile cache for the others.
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

/**
 * Says how the process ended: done, killed during the change, or killed after the change was over, which the process
 * prints.
 */
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
