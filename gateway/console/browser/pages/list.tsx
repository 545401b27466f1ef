import { useState } from 'preact/hooks';
import { volumeStates } from '../../../../src/api/admin.ts';
import type { Entry, Kind } from '../../../../src/cli/kind.ts';
import { kinds, type KindName } from '../../../../src/cli/kinds/index.ts';
import { listAll } from '../../../../src/cli/listing.ts';
import { narrowOf } from '../../../../src/cli/output/rows.ts';
import { readOrder } from '../../../../src/cli/output/order.ts';
import { call, client } from '../gateway.ts';
import { useLive } from '../live.ts';
import { ChoiceFilter, TextFilter } from '../parts/filters.tsx';
import { Notice } from '../parts/notice.tsx';
import { Pager } from '../parts/pager.tsx';
import { Table } from '../parts/table.tsx';
import { goTo, hrefOf, type Route } from '../route.ts';

const pageLimit = 100;

type Listed = { readonly entries: readonly Entry[]; readonly nextPageToken?: string | undefined };

type Filters = Readonly<Record<'cluster' | 'pool' | 'state' | 'find' | 'sort', string>>;

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

/** The filters with few values. */
const choices = [
  { head: 'pool', label: 'Pool', load: findPools },
  { head: 'state', label: 'State', load: async () => volumeStates },
] as const;

async function findPools(): Promise<readonly string[]> {
  return (await listAll({ client, call }, kinds.pools, {})).map(({ id }) => id);
}

/** A list of one kind, page by page. Filters and page are in the address, so that a link shows the same list. */
export function List({ name, route: { query } }: { readonly name: KindName; readonly route: Route }) {
  const { columns, doc } = kinds[name];
  const [areAll, setAreAll] = useState(false);
  const read = (filter: string): string => query.get(filter) ?? '';
  const filters: Filters = {
    cluster: read('cluster'),
    pool: read('pool'),
    state: volumeStates.find(state => state === read('state')) ?? '',
    find: read('find'),
    sort: read('sort'),
  };
  const pageToken = query.get('page') ?? '';
  const orderBy = orderOf(name, filters);
  // Without an order of the gateway the shown entries are sorted, which needs no new load.
  const asked = new URLSearchParams({ ...filters, sort: orderBy, page: pageToken });
  const live = useLive<Listed>(`${name}?${asked}`, () => load(name, filters, pageToken));
  const change = (changes: Partial<Filters>): void =>
    goTo(hrefOf([name], { ...filters, ...changes }), { isSame: pageToken === '' });
  const sort = (by: string): void => {
    const sorted = { ...filters, sort: by };
    // A page of one order is none of another.
    const isSamePage = [filters, sorted].every(one => orderOf(name, one) === '');
    goTo(hrefOf([name], isSamePage ? { ...sorted, page: pageToken } : sorted), { isSame: true });
  };
  const { value } = live;
  // The other clauses are about arguments of the command line.
  const [summary] = doc.split('; ', 1);
  const order = orderBy === '' ? readOrder(columns, filters.sort) : undefined;
  const next = value?.nextPageToken;
  const isPart = pageToken !== '' || next !== undefined;
  return (
    <>
      <p class="doc">{summary}</p>
      <form class="filters" role="search" onSubmit={event => event.preventDefault()}>
        <Narrowing name={name} filters={filters} onChange={change} />
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
      {isPart && (
        <Pager
          hasPrevious={pageToken !== ''}
          onNext={next === undefined ? undefined : () => goTo(hrefOf([name], { ...filters, page: next }))}
        />
      )}
    </>
  );
}

type NarrowingProps = {
  readonly name: KindName;
  readonly filters: Filters;
  readonly onChange: (changes: Partial<Filters>) => void;
};

/** The filters that a list has. */
function Narrowing({ name, filters, onChange }: NarrowingProps) {
  return (
    <>
      {ofClusters.has(name) && (
        <TextFilter label="Cluster" value={filters.cluster} onChange={cluster => onChange({ cluster })} />
      )}
      {(kinds[name] as Kind).filter &&
        choices.map(({ head, ...choice }) => (
          <ChoiceFilter
            key={head}
            {...choice}
            value={filters[head]}
            onChange={chosen => onChange({ [head]: chosen })}
          />
        ))}
      <TextFilter label={labelOf(name)} value={filters.find} onChange={find => onChange({ find })} />
    </>
  );
}

function labelOf(name: KindName): string {
  if (name === 'audit-log') return 'Resource';
  if (name === 'history') return 'Pool';
  return searchable.has(name) ? 'Id contains' : 'Id';
}

/** Returns the order that the gateway has for all entries; for a part of them it has none, ''. */
function orderOf(name: KindName, { sort, ...others }: Filters) {
  const isWhole = Object.values(others).every(filter => filter === '');
  return (isWhole && (kinds[name] as Kind).orders?.find(order => order === sort)) || '';
}

function load(name: KindName, filters: Filters, pageToken: string): Promise<Listed> {
  const kind: Kind = kinds[name];
  const { cluster, pool, state, find } = filters;
  const ofCluster = cluster === '' ? {} : { cluster };
  const asked = searchable.has(name) ? { search: find } : kind.ask(find, ofCluster.cluster);
  const found = find === '' ? {} : asked;
  const chosen = { ...kind.filter?.('pool', pool), ...kind.filter?.('state', state) };
  const orderBy = orderOf(name, filters);
  const ordered = orderBy === '' ? {} : { orderBy };
  return kind.page(
    client,
    { ...ofCluster, ...chosen, ...ordered, ...found, limit: pageLimit, pageToken },
    call(),
  );
}
