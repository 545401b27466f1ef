import { readdirSync } from 'node:fs';
import { createProbe } from '../../src/csi/probe.ts';
import { countAbandoned } from '../../src/lib/exec.ts';
import type { Log } from '../../src/lib/log.ts';
import { version } from '../../src/lib/version.ts';
import type { Agent } from '../volumes/agent.ts';
import { examineAll } from '../volumes/health.ts';
import { startHttp, type HttpServer, type Page } from './http.ts';
import type { Metric, Metrics } from './metrics.ts';
import type { Registration } from './registration.ts';
import type { Survey } from './preflight.ts';

/** What is shown, and where. */
export type ObservabilityOptions = {
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
 * Serves `/healthz` and `/metrics`. Healthy (200) is an agent whose CSI socket answers Probe and that kubelet has not
 * refused; one that kubelet has not asked yet is healthy too, since to start it again would not change that.
 */
export function startObservability(options: ObservabilityOptions): Promise<HttpServer> {
  const { listen, socketPath, metrics, log } = options;
  const isAnswered = shared(createProbe(socketPath, probeTimeoutMs));
  return startHttp({
    ...listen,
    failed: (path, error) => log.error('a page could not be made', { path, detail: String(error) }),
    pages: new Map([
      ['/healthz', async () => describeHealth(await isAnswered(), options.registration)],
      ['/metrics', async () => ({ status: 200, text: metrics.render(await readMetrics(options)) })],
    ]),
  });
}

/** Those who ask while a question is under way get its answer. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => (underWay ??= ask().finally(() => (underWay = undefined)));
}

function describeHealth(isAnswered: boolean, registration: Registration | undefined): Page {
  const state = registration?.state;
  const lines = [
    `csi: ${isAnswered ? 'ok' : 'the socket does not answer'}`,
    ...(state ? [`registration: ${state.status}${'reason' in state ? `: ${state.reason}` : ''}`] : []),
  ];
  const isHealthy = isAnswered && state?.status !== 'refused';
  return { status: isHealthy ? 200 : 503, text: `${lines.join('\n')}\n` };
}

/** What is read when it is asked for. The series of a volume end when the volume is taken away. */
async function readMetrics({
  agent,
  registration,
  survey,
}: ObservabilityOptions): Promise<readonly Metric[]> {
  const { records } = agent;
  const { user, system } = process.cpuUsage();
  const volumes = await examineAll(agent);
  const faults = volumes.flatMap(({ volumeId, faults: reasons }) =>
    reasons.map(reason => keyOf({ volume_id: volumeId, reason })),
  );
  return [
    gauge('fairlead_node_info', 'The version.', [[keyOf({ version }), 1]]),
    gauge('fairlead_node_records', 'Volumes that are recorded as attached.', records.here().length),
    gauge(
      'fairlead_node_damaged_records',
      'Records that could not be read at the start.',
      records.damagedCount,
    ),
    gauge('fairlead_node_stuck_children', 'Commands that did not die when killed.', countAbandoned()),
    gauge(
      'fairlead_node_volume_healthy',
      'Whether nothing is known to be wrong with a volume on this node.',
      volumes.map(volume => [keyOf({ volume_id: volume.volumeId }), volume.faults.length === 0 ? 1 : 0]),
    ),
    gauge(
      'fairlead_node_volume_faults',
      'What is wrong with a volume on this node.',
      faults.map(key => [key, 1]),
    ),
    gauge(
      'fairlead_node_protocol_usable',
      'Whether this node has what an attach protocol needs.',
      survey.known.map(({ protocol, reason }) => [keyOf({ protocol }), reason === undefined ? 1 : 0]),
    ),
    ...(registration ? describeRegistration(registration) : []),
    gauge('process_resident_memory_bytes', 'Resident memory.', process.memoryUsage.rss()),
    gauge('process_open_fds', 'Open file descriptors.', readdirSync('/proc/self/fd').length - 1),
    gauge('process_cpu_seconds_total', 'Time spent on a processor.', (user + system) / 1_000_000),
    gauge('process_start_time_seconds', 'When the process started.', performance.timeOrigin / 1_000),
  ];
}

function describeRegistration({ state, refusals }: Registration): readonly Metric[] {
  const isRegistered = state.status === 'registered' ? 1 : 0;
  return [
    gauge('fairlead_node_registered', 'Whether kubelet said last that it took the driver.', isRegistered),
    gauge('fairlead_node_registration_refusals_total', 'How often kubelet refused the driver.', refusals),
  ];
}

function gauge(name: string, help: string, value: number | Metric['samples']): Metric {
  const type = name.endsWith('_total') ? 'counter' : 'gauge';
  return { name, help, type, samples: typeof value === 'number' ? [['', value]] : value };
}

function keyOf(labels: Readonly<Record<string, string>>): string {
  // JSON has the escapes of a label's value: of quotes, backslashes and line ends.
  const all = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `{${all.join(',')}}`;
}
