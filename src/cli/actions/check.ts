import type { Finding, UncheckedPool } from '../../api/admin.ts';
import { toAge } from '../output/values.ts';
import { renderRows } from '../output/table.ts';
import type { Action } from './action.ts';

type CheckValues = { readonly stuckAfterMs?: number | undefined };
type RepairValues = CheckValues & { readonly safetyAgeMs?: number | undefined };

/** Compares the storage of all pools with the store. A dry one does the same, because a check changes neither. */
export const check: Action<CheckValues> = async (client, call, { stuckAfterMs }) => {
  const data = await client.check({ stuckAfterMs }, call);
  const { findings, total, unchecked = [] } = data;
  const table = [renderRows(findings.map(toRow), total), ...unchecked.map(toLine)].join('\n');
  return { data, table, status: total + unchecked.length > 0 ? 2 : 0 };
};

/** Finishes stuck operations, and removes unknown volumes and snapshots. */
export const repair: Action<RepairValues> = async (client, call, { isDry, ...ages }) => {
  const data = await client.repair({ body: { dryRun: isDry, ...ages } }, call);
  const { steps, total, unchecked = [] } = data;
  const rows = steps.map(step => ({
    ...toRow(step),
    action: step.action,
    outcome: step.outcome ?? '',
    note: step.note,
  }));
  const isLeft = steps.some(({ outcome }) => outcome !== 'done') || total > steps.length;
  const table = [renderRows(rows, total), ...unchecked.map(toLine)].join('\n');
  return { data, table, status: isLeft || unchecked.length > 0 ? 2 : 0 };
};

function toRow({ problem, pool, kind, id, ageMs, detail }: Finding) {
  return { problem, pool, kind, id, age: toAge(ageMs), found: detail };
}

function toLine({ pool, detail }: UncheckedPool): string {
  return `pool "${pool}" was not checked: ${detail}`;
}
