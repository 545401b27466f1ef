import { callOnce } from '../csi/client.ts';
import { loadCsi } from '../csi/protocol.ts';
import type { Log } from '../lib/log.ts';
import { readRows, renderMetrics, sample } from '../lib/metrics.ts';
import { startPages } from '../lib/pages.ts';
import { version } from '../lib/version.ts';
import type { ControllerConfig } from './config.ts';
import type { Metrics } from './metrics.ts';

const probeTimeoutMs = 2_000;

/**
 * Serves `/healthz` and `/metrics`. `/healthz` is 200 while the CSI socket answers Probe, ready or not, and 503
 * otherwise: a restart would not help a controller whose gateway is down.
 */
export async function startHealth(config: ControllerConfig, metrics: Metrics, log: Log) {
  const listen = config['metrics-listen'];
  if (listen === undefined) return undefined;
  const { Identity } = loadCsi();
  const describe = () =>
    callOnce(config.endpoint, Identity, ({ Probe }) => Probe({}, probeTimeoutMs)).then(
      () => ({ status: 200, text: 'csi: ok\n' }),
      () => ({ status: 503, text: 'csi: the socket does not answer\n' }),
    );
  const info = ['fairlead_controller_info', 'The version.', [sample({ version }, true)]] as const;
  const show = async () => ({ status: 200, text: renderMetrics([...metrics.show(), ...readRows([info])]) });
  return startPages(
    listen,
    new Map([
      ['/healthz', describe],
      ['/metrics', show],
    ]),
    log,
  );
}
