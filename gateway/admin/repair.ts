import type { Finding, RepairStep } from '../../src/api/admin.ts';
import { clusterOf } from '../../src/api/ids.ts';
import { asProblem } from '../../src/api/problem.ts';
import type { Recovery } from '../operations/recovery.ts';
import { audit, type Audit, type AuditOptions } from './audit.ts';
import { reclaim, type ReclaimOptions } from './reclaim.ts';

/** What a repair works with. */
export type RepairOptions = AuditOptions & ReclaimOptions & { readonly recovery: Recovery };

/** What a repair would do. What the storage has not been seen to have for `safetyAgeMs` is not touched. */
export function plan({ findings, foreign }: Audit, safetyAgeMs: number): readonly RepairStep[] {
  return findings.map(finding => ({
    ...finding,
    ...decide(finding, { isForeign: foreign.has(finding.pool), safetyAgeMs }),
  }));
}

/** Takes the steps, each on its own: one that fails holds up no other. */
export async function repair(
  options: RepairOptions,
  steps: readonly RepairStep[],
): Promise<readonly RepairStep[]> {
  const stuck = steps.some(({ action }) => action === 'finish');
  if (stuck) await options.recovery.sweep();
  // What was finished meanwhile, here or by a gateway, is not found again.
  const after = stuck ? await audit(options) : { findings: [] };
  const left = new Set(after.findings.filter(({ problem }) => problem === 'stuck').map(keyOf));
  const done: RepairStep[] = [];
  for (const step of steps) {
    if (step.action === 'none') done.push({ ...step, outcome: 'left' });
    else if (step.action === 'remove') done.push(await remove(options, step));
    else done.push({ ...step, outcome: left.has(keyOf(step)) ? 'failed' : 'done' });
  }
  return done;
}

async function remove(options: ReclaimOptions, step: RepairStep): Promise<RepairStep> {
  try {
    await reclaim(options, step);
    return { ...step, outcome: 'done' };
  } catch (error) {
    return { ...step, outcome: 'failed', note: asProblem(error).detail };
  }
}

function decide(
  { id, problem, ageMs }: Finding,
  { isForeign, safetyAgeMs }: { readonly isForeign: boolean; readonly safetyAgeMs: number },
): Pick<RepairStep, 'action' | 'note'> {
  if (problem === 'stuck') return { action: 'finish', note: '' };
  if (problem === 'missing') return leave('its data cannot be brought back from here');
  if (clusterOf(id) === undefined) return leave('its id is not one of ours');
  if (isForeign) return leave('the store knows nothing of what the pool has: is it the right store?');
  if (ageMs < safetyAgeMs) return leave('not known for long enough');
  return { action: 'remove', note: '' };
}

function leave(note: string): Pick<RepairStep, 'action' | 'note'> {
  return { action: 'none', note };
}

function keyOf({ pool, kind, id, detail }: Finding): string {
  return `${pool} ${kind} ${id} ${detail}`;
}
