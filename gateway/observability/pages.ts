import { asProblem } from '../../src/api/problem.ts';
import { withinTime } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import { readRows, renderMetrics, sample, type Row } from '../../src/lib/metrics.ts';
import { startPages } from '../../src/lib/pages.ts';
import { version } from '../../src/lib/version.ts';
import type { Pools } from '../pools/pools.ts';
import type { Queues } from '../pools/queues.ts';
import type { Engine } from '../store.ts';
import type { Metrics } from './metrics.ts';
import { readPools, readQueues, readStore } from './state.ts';

/** What is shown, and where. */
type ObservabilityOptions = {
  readonly listen: { readonly host: string; readonly port: number };
  readonly engine: Engine;
  readonly pools: Pools;
  readonly metrics: Metrics;
  readonly queues: Queues;
  /** What is wrong with key files now. */
  readonly keyFaults: () => readonly unknown[];
  /** How far this clock is from the time last recorded in the store. */
  readonly skewMs: () => number;
  readonly log: Log;
};

const storeTimeoutMs = 2_000;

/**
 * Serves `/healthz` (200 while the process answers), `/readyz` (200 while its store does, too) and `/metrics`, whose
 * labels are operations, codes, pools and names of clusters: no id.
 */
export async function startObservability({ listen, log, ...shown }: ObservabilityOptions) {
  const { engine, pools, metrics, queues, keyFaults, skewMs } = shown;
  const readMetrics = async (): Promise<string> => {
    const rows: readonly Row[] = [
      ['fairlead_gateway_info', 'The version.', [sample({ version }, true)]],
      [
        'fairlead_gateway_key_faults',
        'Faults in key files, for which tokens are refused, and issuers whose keys cannot be read.',
        keyFaults().length,
      ],
      [
        'fairlead_gateway_clock_skew_seconds',
        'How far the clock was ahead of the time last recorded in the store, or, negative, behind it.',
        skewMs() / 1_000,
      ],
      ...readQueues(queues),
      ...(await readPools(pools)),
      ...(await readStore(engine.reader)),
    ];
    return renderMetrics([...metrics.show(), ...readRows(rows)]);
  };
  const pages = new Map([
    ['/healthz', async () => ({ status: 200, text: 'ok\n' })],
    ['/readyz', () => describeReadiness(engine)],
    ['/metrics', async () => ({ status: 200, text: await readMetrics() })],
  ]);
  return startPages(listen, pages, log);
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
