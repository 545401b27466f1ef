import { toNodeId } from '../src/api/ids.ts';
import type { Segments } from '../src/api/topology.ts';
import { createIdentity } from '../src/csi/identity.ts';
import { loadNodeCsi } from '../src/csi/protocol.ts';
import { serve, type GrpcServer } from '../src/csi/server.ts';
import { poll } from '../src/lib/concurrency.ts';
import type { Running } from '../src/lib/lifecycle.ts';
import type { Log } from '../src/lib/log.ts';
import type { NodeConfig } from './config.ts';
import type { Agent } from './volumes/agent.ts';
import { filesystemsByName } from './filesystems/index.ts';
import type { Host } from './host.ts';
import { createMachine } from './host/linux.ts';
import { createCache } from './state/cache.ts';
import { openNodeKey, type NodeKey } from './state/node-key.ts';
import type { Metrics } from './plugin/metrics.ts';
import { createNode } from './node.ts';
import { lockDirectory } from '../src/lib/directory-lock.ts';
import { requireShared } from './plugin/mount-propagation.ts';
import { openRecords, pathsOf } from './state/records.ts';
import { startRepair } from './state/repair.ts';
import type { Registration } from './plugin/registration.ts';
import { createSurvey, report, type Survey } from './plugin/preflight.ts';
import { createTopology } from './plugin/topology.ts';
import { createWatch } from './host/stuck-commands.ts';
import { requireCarrier } from './volumes/carriers/index.ts';
import { requireBelow } from './volumes/target-path.ts';
import { openTrust, whyRefused, type Trust } from './volumes/trust.ts';

/** The start, with kubelet's first calls, is not held up by the survey's report, in milliseconds. */
const reportAfterMs = 1_000;

/** Starts the node agent on `machine`; what an earlier one mounted is served on and not touched. */
export async function startNodeAgent(
  config: NodeConfig,
  log: Log,
  machine: Host = createMachine({ timeoutMs: config['command-timeout'] }),
): Promise<Running> {
  // Loaded only where it is asked for: the agent is to cost little.
  const metrics = config['metrics-listen'] && (await import('./plugin/metrics.ts')).createMetrics();
  const host = metrics ? metrics.observeHost(machine) : machine;
  const recordsDirectory = `${config['state-dir']}/volumes`;
  for (const directory of [config['state-dir'], recordsDirectory]) await host.makeDirectory(directory);
  // Not the state directory itself: sockets may lie there, and whoever binds one locks their directory.
  await lockDirectory(recordsDirectory, 'state directory');
  const trust = await readTrust(config, host);
  const survey = createSurvey(host, protocol => whyRefused(trust, protocol));
  const agent = await openAgent(config, { host, log, metrics, trust });
  const { records } = agent;
  // Who has volumes already keeps the id by which they are attached.
  const isUsed = records.all().length > 0 || records.damagedCount > 0;
  const key = await openNodeKey(`${config['state-dir']}/node-key.json`, host, !isUsed);
  const nodeId = toNodeId({ name: config['node-id'], ...(key && { key: key.publicKey }) });
  const shared: Shared = { log, agent, metrics, survey, key, nodeId };
  await using started = new AsyncDisposableStack();
  const server = await serveNode(config, shared);
  started.defer(() => server.close());
  const ready = await startExtras(config, shared, started);
  const repairs = startRepair({ host, records, log });
  started.defer(() => void repairs.close());
  const reporting = setTimeout(() => void report({ host, survey, log }), reportAfterMs).unref();
  started.defer(() => clearTimeout(reporting));
  // The pods of a node that drains are unmounted after the agent was asked to end, and only the agent can do it.
  const isUnused = async () => records.here().length === 0 || !(await isDrained(config, shared)) || undefined;
  const released = async (): Promise<void> => {
    await poll(isUnused, { everyMs: 100, timeoutMs: config['shutdown-grace'] });
  };
  const running = started.move();
  return {
    ready: { node: `unix://${config.endpoint}`, nodeId, ...ready },
    released,
    close: () => running.disposeAsync(),
  };
}

/** Whether the node may be in the course of losing its pods; where nobody tells, it may. */
async function isDrained(config: NodeConfig, { agent, nodeId }: Shared): Promise<boolean> {
  const file = config['drained-nodes-file'];
  const drained = file === undefined ? undefined : await agent.host.readText(file);
  return drained === undefined || drained.split('\n').includes(nodeId);
}

type Shared = {
  readonly log: Log;
  readonly agent: Agent;
  readonly metrics: Metrics | undefined;
  readonly survey: Survey;
  readonly key: NodeKey | undefined;
  readonly nodeId: string;
};
type Opening = Pick<Shared, 'log' | 'metrics'> & { readonly host: Host; readonly trust: Trust };

/** Which attachments this node takes. */
function readTrust(config: NodeConfig, host: Host): Promise<Trust> {
  const { protocols, 'local-roots': roots = [], 'state-dir': state, 'kubelet-dir': kubelet } = config;
  const path = config['gateway-keys-file'];
  const gatewayKeysFiles =
    path === undefined ? undefined : { path, newestPath: `${state}/newest-attachments.jsonl` };
  return openTrust({ protocols, roots, own: [state, kubelet], gatewayKeysFiles }, host);
}

/** What the work on volumes shares, with what an earlier agent recorded. */
async function openAgent(config: NodeConfig, { host, log, metrics, trust }: Opening): Promise<Agent> {
  const base = {
    named: config['kubelet-dir'],
    real: await resolveBase(config['kubelet-dir'], { host, log }),
  };
  const records = await openRecords(`${config['state-dir']}/volumes`, host, {
    log,
    requireSound(record) {
      requireCarrier(record);
      // One that was taken down is at no path any more, wherever kubelet's directory was then.
      if (!record.isDown) requireBelow(base, pathsOf(record));
    },
  });
  requireShared(base, await host.mounts());
  const agent: Agent = {
    host,
    records,
    base,
    trust,
    defaultFilesystem: filesystemsByName[config['default-fs']],
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
function serveNode(config: NodeConfig, shared: Shared): Promise<GrpcServer> {
  const { log, agent, metrics, key, nodeId } = shared;
  const { Identity, Node } = loadNodeCsi();
  const identity = createIdentity({
    driverName: config['driver-name'],
    advertised: config['plugin-capabilities'],
    isReady: () => true,
  });
  const node = createNode(agent, {
    nodeId,
    key,
    maxVolumes: config['max-volumes'],
    topology: findTopology(config, shared),
  });
  const services = [
    { definition: Identity, handlers: identity },
    { definition: Node, handlers: node },
  ];
  return serve({ socketPath: config.endpoint, services, log, observe: metrics?.observeRpc });
}

/** The node's topology, which may be reported only when the plugin advertises it (CSI spec, "NodeGetInfo"). */
function findTopology(config: NodeConfig, { log, survey }: Shared): () => Promise<Segments> {
  const { topology: given = {}, 'driver-name': driverName } = config;
  if (config['plugin-capabilities'].includes('topology')) return createTopology(given, driverName, survey);
  if (config.topology) log.warn('--topology is not reported: --plugin-capabilities does not have "topology"');
  return async () => ({});
}

/** Starts what is optional and needs the CSI server to answer: the registration with kubelet, and the HTTP pages. */
async function startExtras(
  config: NodeConfig,
  { log, agent, metrics, survey }: Shared,
  started: AsyncDisposableStack,
): Promise<Running['ready']> {
  const { endpoint: socketPath, 'registration-dir': directory, 'metrics-listen': listen } = config;
  const endpoint = config['kubelet-endpoint'] ?? socketPath;
  const driverName = config['driver-name'];
  let registration: Registration | undefined;
  if (directory !== undefined) {
    const { startRegistration } = await import('./plugin/registration.ts');
    registration = await startRegistration({ directory, driverName, endpoint, log });
    started.defer(registration.close);
  }
  if (!listen || !metrics) return {};
  const { startObservability } = await import('./plugin/observability.ts');
  const http = await startObservability({ listen, socketPath, agent, metrics, registration, survey, log });
  started.defer(http.close);
  return { metrics: http.address };
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
