import { asProblem } from '../../src/api/problem.ts';
import { withinTime } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import {
  createCounter,
  createHistogram,
  readRows,
  renderMetrics,
  sample,
  type Row,
} from '../../src/lib/metrics.ts';
import { startPages } from '../../src/lib/pages.ts';
import { version } from '../../src/lib/version.ts';
import type { Pools } from '../pools/pools.ts';
import type { Engine } from '../store.ts';
import { sumReserved } from '../tables/reservations.ts';

/** Begins to measure a request; what is returned ends it. */
export type ObserveRequest = () => (method: string, route: string, status: number) => void;

/** What is shown, and where. */
type ObservabilityOptions = {
  readonly listen: { readonly host: string; readonly port: number };
  readonly engine: Engine;
  readonly pools: Pools;
  /** What is wrong with key files now. */
  readonly keyFaults: () => readonly unknown[];
  /** How far this clock is from what the store was told last. */
  readonly skewMs: () => number;
  readonly log: Log;
};

const storeTimeoutMs = 2_000;

/**
 * Serves `/healthz` (200 while the process answers), `/readyz` (200 while its store does, too) and `/metrics`, whose
 * labels are routes, statuses and pools: no id, and no name of a cluster.
 */
export async function startObservability({ listen, log, ...shown }: ObservabilityOptions) {
  const { engine, pools, keyFaults, skewMs } = shown;
  const [outcomes, durations] = [createCounter(), createHistogram()];
  const readMetrics = async (): Promise<string> => {
    const reserved = pools
      .all()
      .map(async ({ name }) => sample({ pool: name }, await sumReserved(engine.reader, name, undefined)));
    const rows: readonly Row[] = [
      ['fairlead_gateway_info', 'The version.', [sample({ version }, true)]],
      ['fairlead_gateway_pool_reserved_bytes', 'What is reserved of a pool.', await Promise.all(reserved)],
      [
        'fairlead_gateway_key_faults',
        'Faults in key files, for which tokens are refused.',
        keyFaults().length,
      ],
      [
        'fairlead_gateway_clock_skew_seconds',
        'How far the clock was ahead of what the store was told last, or, negative, behind.',
        skewMs() / 1_000,
      ],
    ];
    return renderMetrics([
      durations.show('fairlead_gateway_request_duration_seconds', 'How long requests took.'),
      outcomes.show('fairlead_gateway_requests_total', 'Requests that were answered, by status.'),
      ...readRows(rows),
    ]);
  };
  const pages = new Map([
    ['/healthz', async () => ({ status: 200, text: 'ok\n' })],
    ['/readyz', () => describeReadiness(engine)],
    ['/metrics', async () => ({ status: 200, text: await readMetrics() })],
  ]);
  const observe: ObserveRequest = () => {
    const ended = durations.start();
    return (method, route, status) => {
      ended(`method="${method}",route="${route}"`);
      outcomes.count(`method="${method}",route="${route}",status="${status}"`);
    };
  };
  return { ...(await startPages(listen, pages, log)), observe };
}

async function describeReadiness(engine: Engine) {
  const asked = engine
    .transaction(sql => sql.all('select 1'))
    .then(
      () => 'ok',
      (error: unknown) => asProblem(error).detail,
    );
  const { value: store } = (await withinTime(asked, storeTimeoutMs)) ?? { value: 'it does not answer' };
  return { status: store === 'ok' ? 200 : 503, text: `store: ${store}\n` };
}
