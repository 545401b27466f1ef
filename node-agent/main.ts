import { toNodeId } from '../src/api/ids.ts';
import type { Segments } from '../src/api/topology.ts';
import { createIdentity } from '../src/csi/identity.ts';
import { loadNodeCsi } from '../src/csi/protocol.ts';
import { serve, type GrpcServer } from '../src/csi/server.ts';
import { poll } from '../src/lib/concurrency.ts';
import type { RunningProgram } from '../src/lib/lifecycle.ts';
import type { Log } from '../src/lib/log.ts';
import type { NodeConfig } from './config.ts';
import type { Agent } from './volumes/agent.ts';
import { filesystemsByName } from './filesystems/index.ts';
import { startTrimming } from './format/trim.ts';
import type { Host } from './host.ts';
import { createMachine } from './host/linux.ts';
import { createCache } from './state/cache.ts';
import { openNodeKey, type NodeKey } from './state/node-key.ts';
import type { Metrics } from './plugin/metrics.ts';
import { createNode } from './node.ts';
import { lockDirectory } from '../src/lib/linux/directory-lock.ts';
import { requireShared } from './plugin/mount-propagation.ts';
import { openRecords, pathsOf } from './state/records.ts';
import type { Registration } from './plugin/registration.ts';
import { createSurvey, report, type Survey } from './plugin/preflight.ts';
import type { DriverVolumes } from './drivers/volumes.ts';
import { createTopology } from './plugin/topology.ts';
import { createWatch } from './host/stuck-commands.ts';
import { requireCarrier } from './volumes/carriers/index.ts';
import { requireBelow } from './volumes/target-path.ts';
import { openTrust, refusalReason, type Trust } from './volumes/trust.ts';
import { createVolumeLock, type VolumeLock } from './volumes/volume-lock.ts';

/** Delay before the survey's report, in milliseconds, so that it does not slow down kubelet's first calls. */
const reportAfterMs = 1_000;

/** Starts the node agent on `machine`; volumes that an earlier agent mounted stay mounted and are served. */
export async function startNodeAgent(
  config: NodeConfig,
  log: Log,
  machine: Host = createMachine({ timeoutMs: config['command-timeout'] }),
): Promise<RunningProgram> {
  // Loaded only if metrics are on, to keep the agent small.
  const metrics = config['metrics-listen'] && (await import('./plugin/metrics.ts')).createMetrics();
  const host = metrics ? metrics.observeHost(machine) : machine;
  const recordsDirectory = `${config['state-dir']}/volumes`;
  for (const directory of [config['state-dir'], recordsDirectory]) await host.createDirectory(directory);
  await lockDirectory(config['state-dir'], 'state directory');
  const trust = await readTrust(config, host);
  const survey = createSurvey(host, protocol => refusalReason(trust, protocol));
  const agent = await openAgent(config, { host, log, metrics, trust });
  const { records } = agent;
  // A node with volumes keeps the id that their attachments name, so it gets no new key.
  const isUsed = records.all().length > 0 || records.damagedCount > 0;
  const key = await openNodeKey(`${config['state-dir']}/node-key.json`, host, !isUsed);
  const nodeId = toNodeId({ name: config['node-id'], ...(key && { key: key.publicKey }) });
  const lock = createVolumeLock(agent);
  const shared: AgentParts = { log, agent, lock, metrics, survey, key, nodeId };
  await using started = new AsyncDisposableStack();
  const server = await serveNode(config, shared);
  started.defer(() => server.close());
  started.use(startTrimming(agent, lock));
  const ready = await startExtras(config, shared, started);
  const reporting = setTimeout(() => void report({ host, survey, log }), reportAfterMs).unref();
  started.defer(() => clearTimeout(reporting));
  // On a draining node, pods are unmounted after the agent got SIGTERM, and only the agent can unmount them.
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

/** True if the node is being drained, or if no file says which nodes are. */
async function isDrained(config: NodeConfig, { agent, nodeId }: AgentParts): Promise<boolean> {
  const file = config['drained-nodes-file'];
  const drained = file === undefined ? undefined : await agent.host.readText(file);
  return drained === undefined || drained.split('\n').includes(nodeId);
}

type AgentParts = {
  readonly log: Log;
  readonly agent: Agent;
  readonly lock: VolumeLock;
  readonly metrics: Metrics | undefined;
  readonly survey: Survey;
  readonly key: NodeKey | undefined;
  readonly nodeId: string;
};
type OpenContext = Pick<AgentParts, 'log' | 'metrics'> & { readonly host: Host; readonly trust: Trust };

function readTrust(config: NodeConfig, host: Host): Promise<Trust> {
  const { protocols, 'local-roots': local = [], 'state-dir': state, 'kubelet-dir': kubelet } = config;
  const roots = local.flatMap(({ pool, path }) => (pool === undefined ? path : []));
  const poolRoots = local.flatMap(({ pool, path }) => (pool === undefined ? [] : { pool, path }));
  const path = config['gateway-keys-file'];
  const gatewayKeysFiles =
    path === undefined ? undefined : { path, newestPath: `${state}/newest-attachments` };
  const drivers = new Map(config['csi-drivers']?.map(({ name, socketPath }) => [name, socketPath]));
  return openTrust({ protocols, roots, poolRoots, drivers, own: [state, kubelet], gatewayKeysFiles }, host);
}

async function openAgent(config: NodeConfig, { host, log, metrics, trust }: OpenContext): Promise<Agent> {
  const base = {
    named: config['kubelet-dir'],
    real: await resolveBase(config['kubelet-dir'], { host, log }),
  };
  const records = await openRecords(`${config['state-dir']}/volumes`, host, {
    log,
    requireSound(record) {
      requireCarrier(record);
      // A volume that is down is at no path, so a move of kubelet's directory does not matter.
      if (!record.isDown) requireBelow(base, pathsOf(record));
    },
  });
  requireShared(base, await host.mounts());
  const agent: Agent = {
    host,
    log,
    records,
    base,
    trust,
    defaultFilesystem: filesystemsByName[config['default-fs']],
    observePhase: metrics?.observePhase,
    cache: createCache(),
    watch: createWatch(),
    unmounting: { isHung: false, allowsLazy: config['lazy-unmount'] },
  };
  // Loaded only if there are records.
  if (records.here().length > 0) await (await import('./volumes/reconcile.ts')).reconcile(agent, log);
  return agent;
}

async function serveNode(config: NodeConfig, shared: AgentParts): Promise<GrpcServer> {
  const { log, agent, lock, metrics, key, nodeId } = shared;
  const { Identity, Node } = loadNodeCsi();
  const identity = createIdentity({
    driverName: config['driver-name'],
    advertised: config['plugin-capabilities'],
    isReady: () => true,
  });
  // Loaded only if there are other drivers.
  const others = config['csi-drivers']
    ? await (await import('./drivers/volumes.ts')).openDriverVolumes(agent, config['state-dir'])
    : undefined;
  const topology = findTopology(config, shared, others);
  const node = createNode(agent, { nodeId, key, maxVolumes: config['max-volumes'], topology, others }, lock);
  const services = [
    { definition: Identity, handlers: identity },
    { definition: Node, handlers: node },
  ];
  return serve({ socketPath: config.endpoint, services, log, observe: metrics?.observeRpc });
}

/** Returns the source of the node's topology, which is empty unless the plugin advertises it (CSI spec, "NodeGetInfo"). */
function findTopology(
  config: NodeConfig,
  { log, survey }: AgentParts,
  others: DriverVolumes | undefined,
): () => Promise<Segments> {
  const { topology: given = {}, 'driver-name': driverName } = config;
  if (config['plugin-capabilities'].includes('topology')) {
    const own = createTopology(given, driverName, survey);
    return async () => ({ ...(await others?.topology()), ...(await own()) });
  }
  if (config.topology) log.warn('--topology is not reported: --plugin-capabilities does not have "topology"');
  return async () => ({});
}

/** Starts the optional parts that need a running CSI server: the registration with kubelet and the HTTP pages. */
async function startExtras(
  config: NodeConfig,
  { log, agent, metrics, survey }: AgentParts,
  started: AsyncDisposableStack,
): Promise<RunningProgram['ready']> {
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

/** Resolves symbolic links in kubelet's directory; returns the given path if kubelet has not made it yet. */
async function resolveBase(path: string, { host, log }: Pick<OpenContext, 'host' | 'log'>): Promise<string> {
  try {
    const real = await host.realPath(path);
    if ((await host.kindOf(real)) !== 'directory')
      throw new Error(`kubelet-dir "${path}" is not a directory`);
    return real;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    log.warn("kubelet's directory does not exist yet; volumes can be staged once it does", { path });
    return path;
  }
}
