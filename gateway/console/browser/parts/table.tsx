import type { ComponentChildren } from 'preact';
import type { AdminAttachment, AuditEntry, RunningOperation } from '../../../../src/api/admin.ts';
import type { Column, Entry } from '../../../../src/cli/kind.ts';
import { kinds, type KindName } from '../../../../src/cli/kinds/index.ts';
import { exactNumbers, readableNumbers } from '../../../../src/cli/output/values.ts';
import { hrefOf } from '../route.ts';
import { Link } from './link.tsx';
import { Ago, Size, toCount, toMoment, withLocalTimes } from './values.tsx';

type TableProps = {
  readonly name: KindName;
  readonly columns: readonly Column[];
  readonly entries: readonly Entry[];
  /** The order of the entries; absent: they cannot be sorted. */
  readonly sorting?: Sorting;
};

/** The column that decides the order, with a minus in front for the opposite order; empty for the order of the list. */
export type Sorting = { readonly by: string; readonly onChange: (by: string) => void };

/** The kinds whose entries have a page of their own. */
const described = [
  'volumes',
  'snapshots',
  'nodes',
  'pools',
  'clusters',
] as const satisfies readonly KindName[];

/** The columns that name an entry of another kind, with that kind. */
const references: Readonly<Record<string, KindName>> = {
  pool: 'pools',
  cluster: 'clusters',
  volume: 'volumes',
};

/** The kinds that count volumes, with the filter that lists them. */
const narrowing: Readonly<Partial<Record<KindName, string>>> = { pools: 'pool', clusters: 'cluster' };

/** A table of entries of one kind, with the columns of the command line. */
export function Table({ name, columns, entries, sorting }: TableProps) {
  if (entries.length === 0) return <p class="empty">None.</p>;
  const classes = new Map(columns.map(column => [column, lookOf(column, entries)]));
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={`table of ${name}`}>
      <table>
        <thead>
          <tr>
            {columns.map(column => (
              <Head key={column.head} head={column.head} look={classes.get(column)} sorting={sorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map(entry => (
            <tr key={entry.id}>
              {columns.map(column => (
                <td key={column.head} class={classes.get(column)}>
                  <Cell name={name} column={column} entry={entry} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type HeadProps = {
  readonly head: string;
  readonly look: string | undefined;
  readonly sorting: Sorting | undefined;
};

/** The head of a column. A click sorts by it, a second one the other way round, and a third one no more. */
function Head({ head, look, sorting }: HeadProps) {
  if (!sorting)
    return (
      <th scope="col" class={look}>
        {head}
      </th>
    );
  const { by, onChange } = sorting;
  const order = by === head ? 'ascending' : by === `-${head}` ? 'descending' : undefined;
  const next = order === undefined ? head : order === 'ascending' ? `-${head}` : '';
  return (
    <th scope="col" class={look} aria-sort={order}>
      <button type="button" onClick={() => onChange(next)}>
        {head}
      </button>
    </th>
  );
}

/** The maximum characters of a value that is never wrapped. */
const maxShort = 48;

/** Returns the class of a column: numbers, which may lack some of them, short words, or sentences and long names. */
function lookOf(column: Column, entries: readonly Entry[]): 'number' | 'short' | 'long' {
  const view = { nowMs: Date.now(), numbers: readableNumbers };
  const values = entries.map(entry => column.of(entry, view)).filter(value => value !== undefined);
  if (values.length > 0 && values.every(value => typeof value === 'number')) return 'number';
  return values.every(value => String(value).length <= maxShort) ? 'short' : 'long';
}

type CellProps = { readonly name: KindName; readonly column: Column; readonly entry: Entry };

function Cell({ name, column, entry }: CellProps): ComponentChildren {
  const value = column.of(entry, { nowMs: Date.now(), numbers: readableNumbers });
  if (value === undefined || value === '') return null;
  const filter = column.head === 'volumes' ? narrowing[name] : undefined;
  if (filter && value !== 0)
    return <Link href={hrefOf(['volumes'], { [filter]: entry.id })}>{toCount(Number(value))}</Link>;
  if (typeof value === 'number') return toNumber(column, value);
  const place = placeOf(name, column, { entry, value });
  if (place) return <Link href={hrefOf(place)}>{value}</Link>;
  // The minutes of a day cannot be told apart by their distance from now.
  if (column.head === 'at' && name === 'history') return toMoment(value);
  if (/^\d{4}-\d\d-\d\dT/.test(value)) return <Ago time={value} />;
  return withLocalTimes(value);
}

type Place = readonly [name: KindName, id: string];

/** Finds the page that a cell leads to. */
function placeOf(
  name: KindName,
  { head }: Column,
  { entry, value }: { entry: Entry; value: string },
): Place | undefined {
  const other = references[head];
  if (other) return [other, value];
  if (head === 'id' && hasPage(name)) return [name, entry.id];
  const { cluster, nodeId } = entry as AdminAttachment;
  if (name === 'attachments' && head === 'node') return ['nodes', `${cluster}/${nodeId}`];
  if (name === 'operations' && head === 'id') return toPlace(entry as RunningOperation);
  if (name === 'audit-log' && head === 'resource')
    return toPlace({ ...(entry as AuditEntry), resourceId: value });
  return undefined;
}

function toPlace({
  kind,
  resourceId,
}: Pick<RunningOperation, 'resourceId'> & { kind: string }): Place | undefined {
  const name = described.find(one => kinds[one].one === kind);
  return name && [name, resourceId];
}

export function hasPage(name: KindName): boolean {
  return (described as readonly KindName[]).includes(name);
}

function toNumber({ unit }: Column, value: number): ComponentChildren {
  if (unit === 'bytes') return <Size bytes={value} />;
  if (unit === undefined) return toCount(value);
  return <span title={exactNumbers[unit](value)}>{readableNumbers[unit](value)}</span>;
}

/** The columns that the page of an entry shows in another place. */
const elsewhere: ReadonlySet<string> = new Set(['id', 'machine-lacks', 'last-failure']);

/** The facts of one entry: a line for each column that has a value. */
export function Facts({ name, entry }: { readonly name: KindName; readonly entry: Entry }) {
  const shown = kinds[name].columns.filter(column => {
    if (elsewhere.has(column.head)) return false;
    const value = column.of(entry, { nowMs: Date.now(), numbers: readableNumbers });
    return value !== undefined && value !== '';
  });
  return (
    <dl class="facts">
      {shown.map(column => (
        <div key={column.head}>
          <dt>{column.head}</dt>
          <dd>
            <Cell name={name} column={column} entry={entry} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
