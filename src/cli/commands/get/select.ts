import { suggest } from '../../../lib/words/suggest.ts';
import type { Column, Entry, Kind, Query, View } from '../../kind.ts';
import { toCell } from '../../output/rows.ts';
import { readableNumbers } from '../../output/values.ts';

/** The parts of `--selector`: the query for the gateway, and `matches`, which checks the rest. */
type Selection = {
  readonly query: Query;
  readonly matches?: (entry: Entry) => boolean;
};

/** Reads conditions such as `pool=fast` and `state!=ready`, which all have to hold. */
export function toSelection(kind: Kind, conditions: readonly string[] = []): Selection {
  const parts = conditions.map(condition => toPart(kind, condition));
  const query = mergeQueries(parts.map(part => part.query));
  const checks = parts.flatMap(({ matches }) => matches ?? []);
  return {
    query,
    ...(checks.length > 0 && { matches: entry => checks.every(check => check(entry)) }),
  };
}

function mergeQueries(queries: readonly Query[]): Query {
  const pairs = queries.flatMap(query => Object.entries(query));
  const merged = Object.fromEntries(pairs);
  const other = pairs.find(([name, value]) => merged[name] !== value);
  if (!other) return merged;
  const [name, value] = other;
  throw new Error(`--selector: nothing has two values of ${name} at once: ${value}, ${merged[name]}`);
}

function toPart(kind: Kind, condition: string): Selection {
  const [, name = '', operator, wanted = ''] = /^([a-z-]+)(!?=)(.*)$/.exec(condition) ?? [];
  if (operator === undefined)
    throw new Error(
      `--selector: "${condition}" is not a condition; write COLUMN=VALUE or COLUMN!=VALUE, such as pool=fast`,
    );
  const isEqual = operator === '=';
  if (name === 'cluster' && isEqual) return { query: { cluster: wanted } };
  const column = findColumn(kind, name);
  const query = isEqual && wanted !== '' ? kind.filter?.(name, wanted) : undefined;
  return query ? { query } : { query: {}, matches: entry => hasValue(column, entry, wanted) === isEqual };
}

/** Finds a column by its name. The word for one entry means its id, as in `pool=fast` for pools. */
function findColumn({ columns, one }: Kind, name: string): Column {
  const known = [...columns, { head: one, of: ({ id }: Entry) => id }];
  const found = known.find(({ head }) => head === name);
  if (found) return found;
  const heads = [...new Set(known.map(({ head }) => head))].join(', ');
  throw new Error(
    name === 'cluster'
      ? `--selector: these entries have no cluster, but cluster=NAME selects those of a cluster; the columns are ${heads}`
      : `--selector: there is no column "${name}"${suggest(
          name,
          known.map(({ head }) => head),
        )}; the columns are ${heads}; cluster=NAME selects those of a cluster`,
  );
}

/** Returns true for the whole value of a cell, as shown or exact, and for each part of a list. */
function hasValue(column: Column, entry: Entry, wanted: string): boolean {
  const view: View = { nowMs: Date.now(), numbers: readableNumbers };
  const exact = String(column.of(entry, view) ?? '');
  return [toCell(column, entry, view), exact, ...exact.split(/[+,]/)].includes(wanted);
}
