import { useEffect, useState } from 'preact/hooks';
import type { Entry } from '../../../../src/cli/kind.ts';
import { kinds, type KindName } from '../../../../src/cli/kinds/index.ts';
import { narrowOf } from '../../../../src/cli/output/rows.ts';
import { readOrder } from '../../../../src/cli/output/order.ts';
import { call, client } from '../gateway.ts';
import { useLive } from '../live.ts';
import { Notice } from '../parts/notice.tsx';
import { Table } from '../parts/table.tsx';
import { goTo, hrefOf, type Route } from '../route.ts';

const pageLimit = 100;

type Listed = { readonly entries: readonly Entry[]; readonly nextPageToken?: string | undefined };

type Filters = Readonly<Record<'cluster' | 'find' | 'sort', string>>;

/** The lists that can be narrowed to the entries of a cluster. */
const ofClusters: ReadonlySet<KindName> = new Set([
  'volumes',
  'snapshots',
  'attachments',
  'nodes',
  'operations',
  'queues',
  'audit-log',
]);

/** The lists that find a part of an id. The others find only a whole one. */
const searchable: ReadonlySet<KindName> = new Set(['volumes', 'snapshots']);

/** A list of one kind, page by page. Filters and page are in the address, so that a link shows the same list. */
export function List({ name, route: { query } }: { readonly name: KindName; readonly route: Route }) {
  const { columns, doc } = kinds[name];
  const [areAll, setAreAll] = useState(false);
  const read = (filter: string): string => query.get(filter) ?? '';
  const filters: Filters = { cluster: read('cluster'), find: read('find'), sort: read('sort') };
  const pageToken = query.get('page') ?? '';
  // The order is that of the shown entries: another one needs no new load.
  const asked = new URLSearchParams({ ...filters, sort: '', page: pageToken });
  const live = useLive<Listed>(`${name}?${asked}`, () => load(name, filters, pageToken));
  const change = (changes: Partial<Filters>): void =>
    goTo(hrefOf([name], { ...filters, ...changes }), { isSame: pageToken === '' });
  const sort = (by: string): void =>
    goTo(hrefOf([name], { ...filters, sort: by, page: pageToken }), { isSame: true });
  const { value } = live;
  // The other clauses are about arguments of the command line.
  const [summary] = doc.split('; ', 1);
  const order = readOrder(columns, filters.sort);
  const isPart = pageToken !== '' || value?.nextPageToken !== undefined;
  return (
    <>
      <p class="doc">{summary}</p>
      <form class="filters" role="search" onSubmit={event => event.preventDefault()}>
        {ofClusters.has(name) && (
          <Filter label="Cluster" value={filters.cluster} onChange={cluster => change({ cluster })} />
        )}
        <Filter label={labelOf(name)} value={filters.find} onChange={find => change({ find })} />
        <label>
          <input
            type="checkbox"
            checked={areAll}
            onChange={event => setAreAll(event.currentTarget.checked)}
          />{' '}
          All columns
        </label>
      </form>
      <Notice live={live} />
      {value && (
        <Table
          name={name}
          columns={areAll ? columns : narrowOf(columns)}
          entries={order ? value.entries.toSorted(order) : value.entries}
          sorting={{ by: filters.sort, onChange: sort }}
        />
      )}
      {order && isPart && <p class="doc">Only the entries of this page are sorted.</p>}
      {!value && !live.problem && <p class="empty">Loading…</p>}
      <p class="pages">
        <button type="button" disabled={pageToken === ''} onClick={() => history.back()}>
          Previous page
        </button>
        <button
          type="button"
          disabled={value?.nextPageToken === undefined}
          onClick={() => goTo(hrefOf([name], { ...filters, page: value?.nextPageToken ?? '' }))}
        >
          Next page
        </button>
      </p>
    </>
  );
}

type FilterProps = {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
};

/** How long a filter waits for the next letter, in milliseconds. */
const typingMs = 100;

function Filter({ label, value, onChange }: FilterProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed.trim() === value) return undefined;
    const timer = setTimeout(() => onChange(typed.trim()), typingMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <label>
      {label} <input type="search" value={typed} onInput={event => setTyped(event.currentTarget.value)} />
    </label>
  );
}

function labelOf(name: KindName): string {
  if (name === 'audit-log') return 'Resource';
  if (name === 'history') return 'Pool';
  return searchable.has(name) ? 'Id contains' : 'Id';
}

function load(name: KindName, { cluster, find }: Filters, pageToken: string): Promise<Listed> {
  const kind = kinds[name];
  const ofCluster = cluster === '' ? {} : { cluster };
  const asked = searchable.has(name) ? { search: find } : kind.ask(find, ofCluster.cluster);
  const found = find === '' ? {} : asked;
  return kind.page(client, { ...ofCluster, ...found, limit: pageLimit, pageToken }, call());
}
