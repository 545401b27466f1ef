import { useMemo, useRef } from 'preact/hooks';
import { history } from '../../../../src/cli/kinds/history.ts';
import { listAll } from '../../../../src/cli/listing.ts';
import { toAge } from '../../../../src/cli/output/values.ts';
import { call, client } from '../gateway.ts';
import { useLive } from '../live.ts';
import { hrefOf } from '../route.ts';
import { Link } from './link.tsx';
import { Notice } from './notice.tsx';
import { Plot } from './plot.tsx';
import { toCount, toSize } from './values.tsx';

type MinuteOfPool = Awaited<ReturnType<typeof history.page>>['entries'][number];

const everyMs = 15_000;
/** The newest minutes are read again: other replicas may add to them. */
const unsettledMs = 180_000;
const dayMs = 86_400_000;

/** The last 24 hours of each pool as plots. */
export function Day() {
  const known = useRef<readonly MinuteOfPool[]>([]);
  const load = async () => (known.current = await loadDay(known.current));
  const live = useLive('history', load, everyMs);
  const { value } = live;
  const pools = useMemo(() => {
    const byPool = Map.groupBy(value ?? [], ({ pool }) => pool);
    return [...byPool].toSorted(([one], [other]) => (one < other ? -1 : 1));
  }, [value]);
  if (pools.length === 0 && !live.problem) return null;
  return (
    <section aria-labelledby="day">
      <h2 id="day">Last 24 hours</h2>
      <Notice live={live} />
      {pools.map(([pool, minutes]) => (
        <PoolDay key={pool} pool={pool} minutes={minutes} />
      ))}
      <p>
        <Link href={hrefOf(['history'])}>All figures, minute by minute</Link>
      </p>
    </section>
  );
}

/** Loads the minutes of a day, the oldest first. Minutes in `known` are not loaded again. */
async function loadDay(known: readonly MinuteOfPool[]): Promise<readonly MinuteOfPool[]> {
  const last = known.at(-1);
  const dayAgo = new Date(Date.now() - dayMs).toISOString();
  const since = last ? new Date(Date.parse(last.at) - unsettledMs).toISOString() : dayAgo;
  const added = await listAll<MinuteOfPool>({ client, call }, history, { since });
  return [...known.filter(({ at }) => at < since && at >= dayAgo), ...added.toReversed()];
}

type PoolDayProps = { readonly pool: string; readonly minutes: readonly MinuteOfPool[] };

function PoolDay({ pool, minutes }: PoolDayProps) {
  const times = useMemo(() => minutes.map(({ at }) => Date.parse(at)), [minutes]);
  const all = <T,>(of: (minute: MinuteOfPool) => T): readonly T[] => minutes.map(of);
  const hasWaited = minutes.some(({ waiting, waitMs }) => waiting + waitMs > 0);
  const hasSpace = minutes.some(
    ({ totalBytes, reservedBytes }) => totalBytes !== undefined || reservedBytes > 0,
  );
  const hasCalls = minutes.some(({ calls }) => calls > 0);
  return (
    <section class="card" aria-label={`last 24 hours of pool ${pool}`}>
      <h3>
        <Link href={hrefOf(['pools', pool])}>{pool}</Link>
      </h3>
      <div class="plots">
        {hasSpace && (
          <Plot
            title="Space"
            times={times}
            show={toSize}
            isOfBytes
            series={[
              { name: 'reserved', look: 'whole', values: all(({ reservedBytes }) => reservedBytes) },
              { name: 'soft-deleted', look: 'part', values: all(({ deletedBytes }) => deletedBytes) },
              { name: 'capacity', look: 'limit', values: all(({ totalBytes }) => totalBytes) },
            ]}
          />
        )}
        {hasCalls && (
          <Plot
            title="Calls per minute"
            times={times}
            show={toCount}
            series={[
              { name: 'all', look: 'whole', values: all(({ calls }) => calls) },
              { name: 'failed', look: 'fault', values: all(({ failedCalls }) => failedCalls) },
            ]}
          />
        )}
        {hasWaited && (
          <>
            <Plot
              title="Queue"
              times={times}
              show={toCount}
              series={[{ name: 'waiting', look: 'whole', values: all(({ waiting }) => waiting) }]}
            />
            <Plot
              title="Longest wait"
              times={times}
              show={toAge}
              series={[{ name: 'wait', look: 'whole', values: all(({ waitMs }) => waitMs) }]}
            />
          </>
        )}
      </div>
      {!hasSpace && <p>Its size is unknown, and nothing is reserved.</p>}
      {!hasCalls && <p>Its storage was not called.</p>}
      {!hasWaited && <p>No operation had to wait.</p>}
    </section>
  );
}
