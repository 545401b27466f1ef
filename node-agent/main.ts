import type { Segments } from '../src/api/topology.ts';
import { createIdentity } from '../src/csi/identity.ts';
import { loadNodeCsi } from '../src/csi/protocol.ts';
import { serve, type GrpcServer } from '../src/csi/server.ts';
import { poll } from '../src/lib/concurrency.ts';
import type { Running } from '../src/lib/lifecycle.ts';
import type { Log } from '../src/lib/log.ts';
import type { NodeConfig } from './config.ts';
import type { Agent } from './volumes/agent.ts';
import { findFilesystem } from './filesystems/index.ts';
import type { Host } from './host.ts';
import { createMachine } from './host/linux.ts';
import { createCache } from './state/cache.ts';
import type { Metrics } from './plugin/metrics.ts';
import { createNode, type NodeIdentity } from './node.ts';
import { lockDirectory } from '../src/lib/directory-lock.ts';
import { requireShared } from './plugin/mount-propagation.ts';
import { openRecords } from './state/records.ts';
import { startRepair } from './state/repair.ts';
import { createSurvey, startReport, type Survey } from './plugin/preflight.ts';
import { createTopology } from './plugin/topology.ts';
import { createWatch } from './host/stuck-commands.ts';

/**
 * Starts the node agent on `machine`. What was mounted by an earlier one is served on, and nothing is touched by the
 * start.
 */
export async function startNodeAgent(
  config: NodeConfig,
  log: Log,
  machine: Host = createMachine({ timeoutMs: config['command-timeout'] }),
): Promise<Running> {
  // Loaded only where it is asked for: the agent is to cost little.
  const metrics = config['metrics-listen'] && (await import('./plugin/metrics.ts')).createMetrics();
  const host = metrics ? metrics.observeHost(machine) : machine;
  await host.makeDirectory(config['state-dir']);
  await lockDirectory(config['state-dir'], 'state directory');
  const survey = createSurvey(host);
  const topology = findTopology(config, { log, survey });
  const shared: Shared = { log, agent: await openAgent(config, { host, log, metrics }), metrics, survey };
  const server = await serveNode(config, shared, { nodeId: config['node-id'], topology });
  try {
    const { records } = shared.agent;
    const extras = await startExtras(config, shared);
    const repairs = startRepair({ host, records, log });
    const endReport = startReport({ host, survey, log });
    const close = async (): Promise<void> => {
      void repairs.close();
      endReport();
      await extras.close();
      await server.close();
    };
    // The pods of a node that drains are unmounted after the agent was asked to end, and only the agent can do it.
    const isUnused = () => records.here().length === 0 || undefined;
    const released = async (): Promise<void> => {
      await poll(isUnused, { everyMs: 100, timeoutMs: config['shutdown-grace'] });
    };
    return {
      ready: { node: `unix://${config.endpoint}`, nodeId: config['node-id'], ...extras.ready },
      released,
      close,
    };
  } catch (error) {
    await server.close();
    throw error;
  }
}

type Shared = {
  readonly log: Log;
  readonly agent: Agent;
  readonly metrics: Metrics | undefined;
  readonly survey: Survey;
};
type Opening = Pick<Shared, 'log' | 'metrics'> & { readonly host: Host };

/** What the work on volumes shares, with what an earlier agent recorded. */
async function openAgent(config: NodeConfig, { host, log, metrics }: Opening): Promise<Agent> {
  const defaultFilesystem = findFilesystem(config['default-fs']);
  if (!defaultFilesystem) throw new Error(`no filesystem "${config['default-fs']}"`);
  const records = await openRecords(`${config['state-dir']}/volumes`, host, log);
  const base = {
    named: config['kubelet-dir'],
    real: await resolveBase(config['kubelet-dir'], { host, log }),
  };
  requireShared(base, await host.mounts());
  const agent: Agent = {
    host,
    records,
    base,
    defaultFilesystem,
    observePhase: metrics?.observePhase,
    cache: createCache(),
    watch: createWatch(),
    unmounting: { isHung: false, allowsLazy: config['lazy-unmount'] === 'true' },
  };
  // Loaded only where there is something recorded.
  if (records.here().length > 0) await (await import('./state/reconcile.ts')).reconcile(agent, log);
  return agent;
}

/** Serves CSI's Identity and Node. */
function serveNode(
  config: NodeConfig,
  { log, agent, metrics }: Shared,
  told: Pick<NodeIdentity, 'nodeId' | 'topology'>,
): Promise<GrpcServer> {
  const { Identity, Node } = loadNodeCsi();
  const identity = createIdentity({
    driverName: config['driver-name'],
    advertised: config['plugin-capabilities'],
    isReady: () => true,
  });
  const node = createNode(agent, {
    ...told,
    maxVolumes: config['max-volumes'],
  });
  const services = [
    { definition: Identity.service, handlers: identity },
    { definition: Node.service, handlers: node },
  ];
  return serve({ socketPath: config.endpoint, services, log, observe: metrics?.observeRpc });
}

/** Where the node is; it may only be told when the plugin advertises topology (CSI spec, "NodeGetInfo"). */
function findTopology(
  config: NodeConfig,
  { log, survey }: Pick<Shared, 'log' | 'survey'>,
): () => Promise<Segments> {
  const { topology: given = {}, 'driver-name': driverName } = config;
  if (config['plugin-capabilities'].includes('topology'))
    return createTopology({ given, driverName, survey: survey.ask });
  if (config.topology) log.warn('--topology is not told: --plugin-capabilities does not have "topology"');
  return async () => ({});
}

/** What is optional and needs the CSI server to answer: the registration with kubelet, and the HTTP pages. */
async function startExtras(config: NodeConfig, { log, agent, metrics, survey }: Shared): Promise<Running> {
  const { endpoint: socketPath, 'registration-dir': directory, 'metrics-listen': listen } = config;
  const endpoint = config['kubelet-endpoint'] ?? socketPath;
  const driverName = config['driver-name'];
  const registration =
    directory === undefined
      ? undefined
      : await (
          await import('./plugin/registration.ts')
        ).startRegistration({ directory, driverName, endpoint, log });
  if (!listen || !metrics) return { ready: {}, close: async () => registration?.close() };
  try {
    const { startObservability } = await import('./plugin/observability.ts');
    const http = await startObservability({ listen, socketPath, agent, metrics, registration, survey, log });
    const close = async (): Promise<void> => {
      await Promise.all([registration?.close(), http.close()]);
    };
    return { ready: { metrics: http.address }, close };
  } catch (error) {
    await registration?.close();
    throw error;
  }
}

/** Kubelet's directory without symbolic links; where kubelet has not made it yet, as it is named. */
async function resolveBase(path: string, { host, log }: Pick<Opening, 'host' | 'log'>): Promise<string> {
  try {
    const real = await host.realPath(path);
    if ((await host.kindOf(real)) !== 'directory') throw new Error(`kubelet-dir "${path}" is no directory`);
    return real;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    log.warn("kubelet's directory is not there; nothing can be staged before it is", { path });
    return path;
  }
}
