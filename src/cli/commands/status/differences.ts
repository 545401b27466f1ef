import type { Finding, Status } from '../../../api/admin.ts';
import { toAge } from '../../output/values.ts';
import { entryOf, type StatusLine } from './line.ts';

/** Advises an operator about a difference between the storage and the store. */
export function adviseFinding({ problem, kind, id, pool }: Finding): string {
  const importing = kind === 'volume' ? `import it (fairlead admin import ${id} --pool ${pool}), or ` : '';
  const remedies: Readonly<Record<Finding['problem'], string>> = {
    unknown: `${importing}remove it: fairlead admin repair`,
    missing: `restore it on the storage from a backup, or delete the ${kind}; details: fairlead admin check`,
    stuck: `finish it: fairlead admin repair --yes; its obstacle: fairlead explain ${id}`,
  };
  return remedies[problem];
}

/** Judges the differences that the last check found, those with the same cause together. */
export function judgeCheck({ at, total, findings }: Status['check'], nowMs: number): readonly StatusLine[] {
  const differences = `${total === 1 ? '1 difference' : `${total} differences`} to the store`;
  const state =
    at === undefined ? 'not checked yet' : `checked ${toAge(nowMs - Date.parse(at))} ago, ${differences}`;
  if (findings.length === 0) return [{ about: 'storage', state }];
  const groups = Map.groupBy(findings, ({ pool, kind, problem }) => `${pool} ${kind} ${problem}`);
  return [...groups.values()].map(group => {
    const [first, ids] = [group[0] as Finding, group.map(({ id }) => `"${id}"`)];
    const { pool, kind, detail } = first;
    const more = ids.length > 3 ? ` and ${ids.length - 3} more` : '';
    const noun = ids.length === 1 ? kind : `${ids.length} ${kind}s`;
    return {
      about: 'storage',
      state,
      entry: entryOf('pools', pool),
      what: `pool "${pool}": ${noun} ${ids.slice(0, 3).join(', ')}${more}: ${detail}`,
      todo: adviseFinding(first),
    };
  });
}
