import { lstatSync, mkdirSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { poll } from '../../../src/lib/concurrency.ts';
import { connectCsi } from '../../../src/csi/client.ts';
import { askInfo, notify, type PluginInfo } from './registration-client.ts';

type Driver = { readonly name: string; readonly endpoint: string; readonly nodeId: string };

/** The watched directory; `refuse` returns the reason to refuse a driver, for tests of refusals. */
export type WatcherOptions = {
  readonly directory: string;
  readonly refuse?: (info: PluginInfo) => string | undefined;
};

/**
 * Kubelet's plug-in manager: registers the drivers that make a socket in a directory, and deregisters them when the
 * socket goes.
 */
export interface PluginWatcher {
  readonly drivers: ReadonlyMap<string, Driver>;
  /** The events in order: `registered d`, `refused d: REASON`, `deregistered d`. */
  readonly events: readonly string[];
  /** Resolves once the driver is registered, or registered again after this many events. */
  registered(name: string, sinceEvent?: number): Promise<Driver>;
  stop(): void;
}

type HandledSocket = { readonly stamp: number; readonly name: string };
type World = {
  /** The present sockets, each with the number of its last appearance. */
  readonly desired: Map<string, number>;
  /** The sockets that were handled, even if the driver's registration then failed. */
  readonly actual: Map<string, HandledSocket>;
  readonly drivers: Map<string, Driver>;
  readonly events: string[];
};

/** Kubelet looks every second; that is too slow for a test. */
const reconcileMs = 20;
const minPauseMs = 100;
const maxPauseMs = 2_000;
const waitMs = 20_000;

/** Starts watching; handles the present sockets as well. */
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
  // A socket that comes or goes is a `rename`; a `change` of its mode or use needs no action.
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

/** Registers one socket at a time, after a pause if the last attempt failed. */
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
      const pauseMs = Math.min(maxPauseMs, (pauses.get(path)?.pauseMs ?? minPauseMs / 2) * 2);
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

type RegistrationAttempt = { readonly path: string; readonly stamp: number; readonly refuse: Refuse };

/**
 * Registers a plug-in. A refusal before the socket counts as handled is retried after a pause, a failure after that
 * only when the socket is made again. Kubelet does the same.
 */
async function registerPlugin(world: World, { path, stamp, refuse }: RegistrationAttempt): Promise<void> {
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
