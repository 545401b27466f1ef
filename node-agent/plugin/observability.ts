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

/** The address of the pages and the parts that they show. */
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
 * Serves `/healthz`, `/readyz` and `/metrics`. The agent is healthy (200) if its CSI socket answers Probe and kubelet has not
 * refused it; an agent that still waits for kubelet is healthy too, since a restart would not help. It is ready if kubelet
 * has registered it, or if it does not register itself.
 */
export function startObservability(options: ObservabilityOptions) {
  const { listen, socketPath, metrics, registration, log } = options;
  const isAnswered = createProbe(socketPath, probeTimeoutMs);
  const pages = new Map([
    [
      '/healthz',
      async () => withVolumes(describeHealth(await isAnswered(), registration), options.agent.records),
    ],
    [
      '/readyz',
      async () => describeReadiness(describeHealth(await isAnswered(), registration), registration),
    ],
    ['/metrics', async () => ({ status: 200, text: metrics.render(await readMetrics(options)) })],
  ]);
  return startPages(listen, pages, log);
}

function describeHealth(isAnswered: boolean, registration: Registration | undefined): Page {
  const { status, reason } = registration?.state ?? {};
  const why = status === 'refused' ? `: ${reason}` : '';
  const lines = [
    `csi: ${isAnswered ? 'ok' : 'the socket does not answer'}\n`,
    ...(status ? [`registration: ${status}${why}\n`] : []),
  ];
  const isHealthy = isAnswered && status !== 'refused';
  return { status: isHealthy ? 200 : 503, text: lines.join('') };
}

/** Adds the number of volumes on the node, which tells controllers whether a node that was dead is clean again. */
function withVolumes({ status, text }: Page, records: Pick<Agent['records'], 'here'>): Page {
  return { status, text: `${text}volumes: ${records.here().length}\n` };
}

function describeReadiness(health: Page, registration: Registration | undefined): Page {
  return registration?.state.status === 'waiting' ? { ...health, status: 503 } : health;
}

/** Reads the metrics that are not counted. The series of a volume end when the volume leaves the node. */
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
  const { status, refusals = 0 } = registration?.state ?? {};
  const rows: readonly Row[] = [
    ['fairlead_node_info', 'The version.', [sample({ version }, true)]],
    ['fairlead_node_records', 'Volumes that are recorded as attached.', records.here().length],
    ['fairlead_node_damaged_records', 'Records that could not be read at the start.', records.damagedCount],
    ['fairlead_node_stuck_children', 'Commands that did not die when killed.', countAbandoned()],
    ['fairlead_node_volume_healthy', '1 for a volume without a known fault.', healthy],
    ['fairlead_node_volume_faults', 'A fault of a volume on this node.', faulty],
    ['fairlead_node_protocol_usable', '1 for an attach protocol whose requirements the node meets.', usable],
  ];
  const registrationRows: readonly Row[] = [
    [
      'fairlead_node_registered',
      '1 if kubelet accepted the last registration.',
      Number(status === 'registered'),
    ],
    ['fairlead_node_registration_refusals_total', 'Number of registrations that kubelet refused.', refusals],
  ];
  return readRows([...rows, ...(registration ? registrationRows : [])]);
}
