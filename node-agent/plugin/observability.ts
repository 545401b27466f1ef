import { readdirSync } from 'node:fs';
import { createProbe } from '../../src/csi/probe.ts';
import { countAbandoned } from '../../src/lib/exec.ts';
import type { Log } from '../../src/lib/log.ts';
import { version } from '../../src/lib/version.ts';
import type { Agent } from '../volumes/agent.ts';
import { lookAtStanding, type Standing } from '../volumes/standing.ts';
import { startHttp, type HttpServer, type Page } from './http.ts';
import type { Gauge, Metrics } from './metrics.ts';
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
    pages: {
      '/healthz': async () => describeHealth(await isAnswered(), options.registration),
      '/metrics': async () => ({ status: 200, text: metrics.render(await readGauges(options)) }),
    },
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

async function readGauges({ agent, registration, survey }: ObservabilityOptions): Promise<readonly Gauge[]> {
  const { records } = agent;
  return [
    {
      ...gauge('fairlead_node_info', 'The version.', 1),
      samples: [{ labels: `version="${version}"`, value: 1 }],
    },
    gauge('fairlead_node_records', 'Volumes that are recorded as attached.', records.here().length),
    gauge(
      'fairlead_node_damaged_records',
      'Records of volumes that could not be read at the start.',
      records.damagedCount,
    ),
    gauge(
      'fairlead_node_stuck_children',
      'Commands that did not die when they were killed.',
      countAbandoned(),
    ),
    ...volumeGauges(await lookAtStanding(agent)),
    {
      name: 'fairlead_node_protocol_usable',
      type: 'gauge',
      help: 'Whether this node has what an attach protocol needs.',
      samples: survey.known.map(({ protocol, reason }) => ({
        labels: `protocol="${protocol}"`,
        value: reason === undefined ? 1 : 0,
      })),
    },
    ...(registration ? registrationGauges(registration) : []),
    gauge('process_resident_memory_bytes', 'Resident memory.', process.memoryUsage.rss()),
    gauge('process_open_fds', 'Open file descriptors.', readdirSync('/proc/self/fd').length - 1),
    gauge('process_cpu_seconds_total', 'Time spent on a processor.', cpuSeconds()),
    gauge('process_start_time_seconds', 'When the process started.', performance.timeOrigin / 1_000),
  ];
}

/** Of the volumes that are here now: a series ends when its volume is taken away. */
function volumeGauges(all: readonly Standing[]): readonly Gauge[] {
  const healthy = all.map(({ volumeId, faults }) => ({
    labels: `volume_id="${escapeLabel(volumeId)}"`,
    value: faults.length === 0 ? 1 : 0,
  }));
  const faulty = all.flatMap(({ volumeId, faults }) =>
    faults.map(reason => ({ labels: `volume_id="${escapeLabel(volumeId)}",reason="${reason}"`, value: 1 })),
  );
  return [
    {
      name: 'fairlead_node_volume_healthy',
      type: 'gauge',
      help: 'Whether nothing is known to be wrong with a volume on this node.',
      samples: healthy,
    },
    {
      name: 'fairlead_node_volume_faults',
      type: 'gauge',
      help: 'What is wrong with a volume on this node.',
      samples: faulty,
    },
  ];
}

function escapeLabel(text: string): string {
  return text
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`);
}

function registrationGauges({ state, refusals }: Registration): readonly Gauge[] {
  return [
    gauge(
      'fairlead_node_registered',
      'Whether kubelet said last that the driver is registered.',
      state.status === 'registered' ? 1 : 0,
    ),
    gauge('fairlead_node_registration_refusals_total', 'How often kubelet refused the driver.', refusals),
  ];
}

function gauge(name: string, help: string, value: number): Gauge {
  return { name, help, type: name.endsWith('_total') ? 'counter' : 'gauge', samples: [{ value }] };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}
