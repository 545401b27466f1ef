import { createProbe } from '../../src/csi/client.ts';
import { countAbandoned } from '../../src/lib/exec.ts';
import type { Log } from '../../src/lib/log.ts';
import { readRows, sample, type Metric, type Row } from '../../src/lib/metrics.ts';
import { startPages, type Page } from '../../src/lib/pages.ts';
import { version } from '../../src/lib/version.ts';
import type { Agent } from '../volumes/agent.ts';
import { examineAll } from '../volumes/health.ts';
import type { Metrics } from './metrics.ts';
import type { Registration } from './registration.ts';
import type { Survey } from './preflight.ts';

/** What is shown, and where. */
type ObservabilityOptions = {
  readonly listen: { readonly host: string; readonly port: number };
  readonly socketPath: string;
  readonly agent: Agent;
  readonly metrics: Metrics;
  readonly registration: Registration | undefined;
  readonly survey: Survey;
  readonly log: Log;
};

const probeTimeoutMs = 2_000;

/**
 * Serves `/healthz`, `/readyz` and `/metrics`. Healthy (200) is an agent whose CSI socket answers Probe and that kubelet
 * has not refused; one that kubelet has not asked yet is healthy too, since to start it again would not change that. Ready
 * is one that kubelet has registered, or that registers nowhere.
 */
export function startObservability(options: ObservabilityOptions) {
  const { listen, socketPath, metrics, registration, log } = options;
  const isAnswered = shared(createProbe(socketPath, probeTimeoutMs));
  const pages = new Map([
    ['/healthz', async () => describeHealth(await isAnswered(), registration)],
    [
      '/readyz',
      async () => describeReadiness(describeHealth(await isAnswered(), registration), registration),
    ],
    ['/metrics', async () => ({ status: 200, text: metrics.render(await readMetrics(options)) })],
  ]);
  return startPages(listen, pages, log);
}

/** Those who ask while a question is under way get its answer. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => (underWay ??= ask().finally(() => (underWay = undefined)));
}

function describeHealth(isAnswered: boolean, registration: Registration | undefined): Page {
  const { status, reason } = registration?.standing ?? {};
  const why = status === 'refused' ? `: ${reason}` : '';
  const lines = [
    `csi: ${isAnswered ? 'ok' : 'the socket does not answer'}\n`,
    ...(status ? [`registration: ${status}${why}\n`] : []),
  ];
  const isHealthy = isAnswered && status !== 'refused';
  return { status: isHealthy ? 200 : 503, text: lines.join('') };
}

function describeReadiness(health: Page, registration: Registration | undefined): Page {
  return registration?.standing.status === 'waiting' ? { ...health, status: 503 } : health;
}

/** What is read when it is asked for. The series of a volume end when the volume is taken away. */
async function readMetrics({
  agent,
  registration,
  survey,
}: ObservabilityOptions): Promise<readonly Metric[]> {
  const { records } = agent;
  const volumes = await examineAll(agent);
  const healthy = volumes.map(({ volumeId, faults }) => sample({ volume_id: volumeId }, faults.length === 0));
  const faulty = volumes.flatMap(({ volumeId, faults }) =>
    faults.map(reason => sample({ volume_id: volumeId, reason }, true)),
  );
  const usable = survey.known.map(({ protocol, reason }) => sample({ protocol }, reason === undefined));
  const { status, refusals = 0 } = registration?.standing ?? {};
  const rows: readonly Row[] = [
    ['fairlead_node_info', 'The version.', [sample({ version }, true)]],
    ['fairlead_node_records', 'Volumes that are recorded as attached.', records.here().length],
    ['fairlead_node_damaged_records', 'Records that could not be read at the start.', records.damagedCount],
    ['fairlead_node_stuck_children', 'Commands that did not die when killed.', countAbandoned()],
    ['fairlead_node_volume_healthy', 'Whether nothing is known to be wrong with a volume here.', healthy],
    ['fairlead_node_volume_faults', 'What is wrong with a volume on this node.', faulty],
    ['fairlead_node_protocol_usable', 'Whether this node has what an attach protocol needs.', usable],
  ];
  const ofRegistration: readonly Row[] = [
    ['fairlead_node_registered', 'Whether kubelet took the driver last.', Number(status === 'registered')],
    ['fairlead_node_registration_refusals_total', 'How often kubelet refused the driver.', refusals],
  ];
  return readRows([...rows, ...(registration ? ofRegistration : [])]);
}
