import { asProblem } from '../../src/api/problem.ts';
import { withinTime } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import { readRows, renderInSteps, sample, type Row } from '../../src/lib/metrics.ts';
import { startPages, type Page } from '../../src/lib/pages.ts';
import { version } from '../../src/lib/version.ts';
import type { Pools } from '../pools/pools.ts';
import type { Queues } from '../scheduling/queues.ts';
import type { Engine } from '../store.ts';
import type { Slices } from '../scheduling/slices.ts';
import type { Metrics } from './metrics.ts';
import { type CallerFacts, readCallers, readPools, readQueues, readStore } from './state.ts';

type ObservabilitySources = CallerFacts & {
  readonly engine: Engine;
  readonly pools: Pools;
  readonly metrics: Metrics;
  readonly queues: Queues;
  /** The time slices of the event loop; the page of metrics is rendered in an operator's slices. */
  readonly slices: Slices;
  /** The difference between this clock and the last time in the store. */
  readonly skewMs: () => number;
};

const storeTimeoutMs = 2_000;

/**
 * Serves `/healthz`, `/readyz` and `/metrics`. `/healthz` is 200 while the process answers, `/readyz` while its store
 * answers too. Until `use` is called, the others say that the gateway is starting.
 */
export async function startObservability(listen: { readonly host: string; readonly port: number }, log: Log) {
  let made: ReturnType<typeof createPages> | undefined;
  const pages = new Map([
    ['/healthz', async () => ({ status: 200, text: 'ok\n' })],
    ['/readyz', () => (made?.describeReadiness ?? describeStart)()],
    ['/metrics', () => (made?.showMetrics ?? describeStart)()],
  ]);
  const { address, close } = await startPages(listen, pages, log);
  return { address, close, use: (sources: ObservabilitySources) => void (made = createPages(sources)) };
}

/** The labels of the metrics are operations, codes, pools and names of clusters, never an id. */
function createPages(sources: ObservabilitySources) {
  const { engine, pools, metrics, queues, slices, skewMs } = sources;
  const readMetrics = async (): Promise<string> => {
    const rows: readonly Row[] = [
      ['fairlead_gateway_info', 'The version.', [sample({ version }, true)]],
      [
        'fairlead_gateway_clock_skew_seconds',
        'Lead of the clock over the last time in the store; negative if it is behind.',
        skewMs() / 1_000,
      ],
      ...readQueues(queues),
      ...(await readPools(pools)),
      ...(await Promise.all([readCallers(engine.reader, sources), readStore(engine.reader)])).flat(),
    ];
    return slices.work('operator', renderInSteps([...metrics.show(), ...readRows(rows)]));
  };
  return {
    describeReadiness: () => describeReadiness(engine),
    showMetrics: async () => ({ status: 200, text: await readMetrics() }),
  };
}

async function describeStart(): Promise<Page> {
  return { status: 503, text: 'the gateway is starting\n' };
}

async function describeReadiness(engine: Engine) {
  const answer = engine
    .transaction(sql => sql.all('select 1'))
    .then(
      () => 'ok',
      (error: unknown) => asProblem(error).detail,
    );
  const { value: store } = (await withinTime(answer, storeTimeoutMs)) ?? {
    value: `no answer within ${storeTimeoutMs / 1_000} s`,
  };
  return { status: store === 'ok' ? 200 : 503, text: `store: ${store}\n` };
}
