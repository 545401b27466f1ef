import type { ClusterState, PoolState, Status } from '../../../../src/api/admin.ts';
import { gather } from '../../../../src/cli/commands/status/gather.ts';
import { faultOf, usedBytesOf } from '../../../../src/cli/pool-health.ts';
import { judge, summarize } from '../../../../src/cli/commands/status/judge.ts';
import type { StatusLine } from '../../../../src/cli/commands/status/line.ts';
import { call, client } from '../gateway.ts';
import { useLive } from '../live.ts';
import { hrefOf } from '../route.ts';
import { Bar } from '../parts/bar.tsx';
import { Day } from '../parts/day.tsx';
import { Link } from '../parts/link.tsx';
import { Notice } from '../parts/notice.tsx';
import { toCount, toSize, withLocalTimes } from '../parts/values.tsx';

/** The health of everything in words, the problems first, and the space of pools and quotas. */
export function Overview() {
  const live = useLive('overview', () => gather({ client, call }, location.origin));
  const { value } = live;
  if (!value) return live.problem ? <Notice live={live} /> : <p class="empty">Loading…</p>;
  const { status, pools = [], clusters = [] } = value;
  const lines = judge(value);
  return (
    <>
      <Notice live={live} />
      <Summary lines={lines} />
      <section aria-labelledby="pools">
        <h2 id="pools">Pools</h2>
        {pools.length === 0 && <p class="empty">{noneIn('pools', status)}</p>}
        <ul class="cards">
          {pools.map(pool => (
            <PoolCard key={pool.id} pool={pool} />
          ))}
        </ul>
      </section>
      <Day />
      <section aria-labelledby="clusters">
        <h2 id="clusters">Clusters</h2>
        {clusters.length === 0 && <p class="empty">{noneIn('clusters', status)}</p>}
        <ul class="cards">
          {clusters.map(cluster => (
            <ClusterCard key={cluster.id} cluster={cluster} />
          ))}
        </ul>
      </section>
      <section aria-labelledby="state">
        <h2 id="state">Everything</h2>
        <dl class="facts">
          {[...new Map(lines.map(({ about, state }) => [`${about}: ${state}`, { about, state }]))].map(
            ([key, { about, state }]) => (
              <div key={key}>
                <dt>{about}</dt>
                <dd>{withLocalTimes(state)}</dd>
              </div>
            ),
          )}
        </dl>
      </section>
    </>
  );
}

function noneIn(what: string, status: Status | undefined): string {
  return status?.store.answers === false
    ? 'The store does not answer.'
    : `There are no ${what} in gateway.yaml.`;
}

function Summary({ lines }: { readonly lines: readonly StatusLine[] }) {
  const problems = lines.filter(({ todo }) => todo !== undefined);
  const sentence = summarize(lines);
  if (problems.length === 0) return <p class="fine">{sentence}</p>;
  return (
    <section class="problems" aria-labelledby="problems">
      <h2 id="problems">{sentence}</h2>
      <ul>
        {problems.map(({ about, what = '', todo, entry }) => (
          <li key={`${about}${what}`}>
            <strong>{entry ? <Link href={hrefOf([entry.kind, entry.id])}>{about}</Link> : about}</strong>:{' '}
            {withLocalTimes(what)}
            <span class="todo">{todo}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function PoolCard({ pool }: { readonly pool: PoolState }) {
  const { id, state, backend = '', volumes, snapshots, totalBytes, deletedBytes = 0, recentCalls } = pool;
  const used = totalBytes === undefined ? '' : ` of ${toSize(totalBytes)}`;
  const deleted = deletedBytes > 0 ? `, and ${toSize(deletedBytes)} more soft-deleted` : '';
  const label = `${toSize(usedBytesOf(pool))}${used} reserved${deleted}`;
  const isFaulty = faultOf(pool) !== undefined;
  return (
    <li class={isFaulty ? 'card faulty' : 'card'}>
      <h3>
        <Link href={hrefOf(['pools', id])}>{id}</Link> <small>{backend}</small>
      </h3>
      <p>
        {isFaulty ? (state === 'waiting' ? 'waiting' : 'failing') : state}
        {recentCalls &&
          recentCalls.failed > 0 &&
          `, ${recentCalls.failed} of ${recentCalls.total} calls failed`}
      </p>
      {totalBytes !== undefined && <Bar total={totalBytes} used={usedBytesOf(pool)} label={label} />}
      <p>{label}</p>
      <p>
        {toCount(volumes)} {volumes === 1 ? 'volume' : 'volumes'}, {toCount(snapshots)}{' '}
        {snapshots === 1 ? 'snapshot' : 'snapshots'}
      </p>
    </li>
  );
}

function ClusterCard({ cluster }: { readonly cluster: ClusterState }) {
  const { id, isEnrolled, retiredSince, keyFaults = [], volumes, nodes, quotas } = cluster;
  const isFaulty = keyFaults.length > 0 || (!isEnrolled && retiredSince === undefined);
  const state = retiredSince === undefined ? (isEnrolled ? 'enrolled' : 'not enrolled') : 'retired';
  return (
    <li class={isFaulty ? 'card faulty' : 'card'}>
      <h3>
        <Link href={hrefOf(['clusters', id])}>{id}</Link>
      </h3>
      <p>{keyFaults.length > 0 ? 'faulty keys' : state}</p>
      <p>
        {toCount(volumes)} {volumes === 1 ? 'volume' : 'volumes'}, {toCount(nodes)}{' '}
        {nodes === 1 ? 'node' : 'nodes'}
      </p>
      {quotas.map(quota => {
        const show = quota.path.endsWith('bytes') ? toSize : toCount;
        const label = `${quota.path}: ${show(quota.used)} of ${show(quota.limit)}`;
        return (
          <div key={quota.path}>
            <p>{label}</p>
            <Bar total={quota.limit} used={quota.used} label={label} />
          </div>
        );
      })}
    </li>
  );
}
