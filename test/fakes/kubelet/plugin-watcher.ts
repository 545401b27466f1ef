import { lstatSync, mkdirSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { poll } from '../../../src/lib/concurrency.ts';
import { connectCsi } from '../../../src/csi/client.ts';
import { askInfo, notify, type PluginInfo } from './registration-client.ts';

/** A driver that is registered. */
export type Driver = { readonly name: string; readonly endpoint: string; readonly nodeId: string };

/** `refuse` tells why a driver shall not be registered, for tests of refusals. */
export type WatcherOptions = {
  readonly directory: string;
  readonly refuse?: (info: PluginInfo) => string | undefined;
};

/** Kubelet's plug-in manager: registers whatever makes its socket in a directory, and forgets it with its socket. */
export interface PluginWatcher {
  readonly drivers: ReadonlyMap<string, Driver>;
  /** What happened, in order: `registered d`, `refused d: why`, `deregistered d`. */
  readonly events: readonly string[];
  /** Resolves once the driver is registered, or registered again after so many events. */
  registered(name: string, sinceEvent?: number): Promise<Driver>;
  stop(): void;
}

type Known = { readonly stamp: number; readonly name: string };
type World = {
  /** Sockets that are there, each with the number of its last appearance. */
  readonly desired: Map<string, number>;
  /** Sockets that were gone through, whether the driver's registration then worked or not. */
  readonly actual: Map<string, Known>;
  readonly drivers: Map<string, Driver>;
  readonly events: string[];
};

/** Kubelet looks every second; a test has less time. */
const reconcileMs = 20;
const leastPauseMs = 100;
const mostPauseMs = 2_000;
const waitMs = 20_000;

/** Starts watching; sockets that are there already are gone through as well. */
export function watchPlugins({ directory, refuse = () => undefined }: WatcherOptions): PluginWatcher {
  const world: World = { desired: new Map(), actual: new Map(), drivers: new Map(), events: [] };
  const register = createRegistrar(world, refuse);
  let stamps = 0;
  mkdirSync(directory, { recursive: true });
  const look = (name: string): void => {
    const path = join(directory, name);
    if (name.startsWith('.')) return;
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) world.desired.set(path, ++stamps);
    else world.desired.delete(path);
  };
  // A socket that comes or goes is a `rename`; its mode or its use, a `change`, is nothing new.
  const watcher = watch(directory, (event, name) => {
    if (event === 'rename' && name !== null) look(name);
  });
  for (const name of readdirSync(directory)) look(name);
  const timer = setInterval(() => {
    deregisterLost(world);
    for (const [path, stamp] of world.desired) if (!world.actual.has(path)) void register(path, stamp);
  }, reconcileMs);
  return {
    drivers: world.drivers,
    events: world.events,
    registered: (name, sinceEvent = 0) => waitFor(world, name, sinceEvent),
    stop() {
      clearInterval(timer);
      watcher.close();
    },
  };
}

type Refuse = NonNullable<WatcherOptions['refuse']>;

/** Goes through the registration of one socket at a time, after a pause where the last try failed. */
function createRegistrar(world: World, refuse: Refuse): (path: string, stamp: number) => Promise<void> {
  const pauses = new Map<string, { readonly untilMs: number; readonly pauseMs: number }>();
  const busy = new Set<string>();
  return async (path, stamp) => {
    if (busy.has(path) || Date.now() < (pauses.get(path)?.untilMs ?? 0)) return;
    busy.add(path);
    try {
      await registerPlugin(world, { path, stamp, refuse });
      pauses.delete(path);
    } catch {
      const pauseMs = Math.min(mostPauseMs, (pauses.get(path)?.pauseMs ?? leastPauseMs / 2) * 2);
      pauses.set(path, { untilMs: Date.now() + pauseMs, pauseMs });
    } finally {
      busy.delete(path);
    }
  };
}

function deregisterLost({ desired, actual, drivers, events }: World): void {
  for (const [path, { stamp, name }] of actual) {
    if (desired.get(path) === stamp) continue;
    actual.delete(path);
    if (drivers.delete(name)) events.push(`deregistered ${name}`);
  }
}

type Registering = { readonly path: string; readonly stamp: number; readonly refuse: Refuse };

/**
 * What was refused before it counts as gone through is tried again after a pause; what failed after, only when its socket
 * comes anew. Kubelet does the same.
 */
async function registerPlugin(world: World, { path, stamp, refuse }: Registering): Promise<void> {
  const info = await askInfo(path);
  const { name, endpoint } = info;
  const fault = validate(info);
  if (fault !== undefined) {
    world.events.push(`refused ${name}: ${fault}`);
    await notify(path, { plugin_registered: false, error: fault });
    throw new Error(fault);
  }
  world.actual.set(path, { stamp, name });
  try {
    const why = refuse(info);
    if (why !== undefined) throw new Error(why);
    const nodeId = await askNodeId(endpoint || path);
    world.drivers.set(name, { name, endpoint: endpoint || path, nodeId });
    world.events.push(`registered ${name}`);
  } catch (error) {
    const why = (error as Error).message;
    world.events.push(`refused ${name}: ${why}`);
    await notify(path, { plugin_registered: false, error: why });
    return;
  }
  await notify(path, { plugin_registered: true });
}

function validate({ type, name, supported_versions: versions }: PluginInfo): string | undefined {
  if (type !== 'CSIPlugin') return `no handler registered for plugin type: ${type}`;
  if (name === '') return 'the plugin has no name';
  const isKnown = versions.some(version => /^v?[01]\.\d+\.\d+$/.test(version));
  return isKnown ? undefined : `no supported version among ${versions.join(', ')}`;
}

async function askNodeId(endpoint: string): Promise<string> {
  const client = connectCsi(`unix://${endpoint}`);
  try {
    return (await client.node.NodeGetInfo({})).node_id;
  } finally {
    client.close();
  }
}

async function waitFor({ drivers, events }: World, name: string, sinceEvent: number): Promise<Driver> {
  const look = () => (events.includes(`registered ${name}`, sinceEvent) ? drivers.get(name) : undefined);
  const driver = await poll(look, { everyMs: 2, timeoutMs: waitMs });
  if (driver) return driver;
  throw new Error(`"${name}" is not registered: ${events.slice(sinceEvent).join('; ')}`);
}
