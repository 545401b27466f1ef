import { Problem } from '../../../src/api/problem.ts';
import { createKeyedQueue, pause } from '../../../src/lib/concurrency.ts';
import { connectCsi, type CsiClient } from '../../../src/csi/client.ts';
import { pathsBelow, type Paths, type Pod, type VolumeKey, type VolumeSpec } from './paths.ts';
import { watchPlugins, type PluginWatcher, type WatcherOptions } from './plugin-watcher.ts';
import { createVolumeManager, type Step, type VolumeManager } from './volume-manager.ts';

/** Kubelet's root directory, and the behaviour of its plug-in manager. */
export type KubeletOptions = { readonly root: string; readonly refuse?: WatcherOptions['refuse'] };

/** A small kubelet: finds drivers by their sockets, and brings volumes to pods in kubelet's order of calls. */
export interface Kubelet {
  readonly paths: Paths;
  readonly plugins: PluginWatcher;
  /** The Node calls that succeeded, in order, such as `NodeStageVolume pv-1`. */
  readonly calls: readonly string[];
  /** The failures that were retried. */
  readonly failures: readonly string[];
  /** Mounts all volumes of a pod; retries failures until they are mounted or kubelet is stopped. */
  runPod(pod: Pod): Promise<void>;
  /** Unmounts all volumes of a pod, and unstages the volumes that no other pod uses. */
  removePod(uid: string): Promise<void>;
  /**
   * Expands a volume on the node while pods use it. Retries until it succeeds, except after FAILED_PRECONDITION, which
   * kubelet takes for a volume that cannot be expanded while in use.
   */
  expandVolume(volume: VolumeSpec, requiredBytes: number): Promise<void>;
  /** Removes all pods at once. */
  drain(): Promise<void>;
  /** Continues after a restart: mounts the volumes of these pods again, and removes all other volumes. */
  reconstruct(pods: readonly Pod[]): Promise<void>;
  /** Ends at once, as a killed kubelet does: nothing is unmounted. */
  stop(): void;
}

const minPauseMs = 50;
const maxPauseMs = 1_000;
/** Kubelet's timeout of one CSI call. */
const patienceMs = 60_000;

/** Starts a kubelet below its root directory. */
export function startKubelet({ root, refuse }: KubeletOptions): Kubelet {
  const paths = pathsBelow(root);
  const plugins = watchPlugins({ directory: paths.registry, ...(refuse && { refuse }) });
  const manager = createVolumeManager(root, paths);
  const runner = createRunner(plugins);
  const { mount, unmount, expand, adopt } = createMounts(manager, runner);
  const pods = new Map<string, readonly VolumeKey[]>();
  const runPod = async ({ uid, volumes }: Pod): Promise<void> => {
    pods.set(uid, volumes);
    await Promise.all(volumes.map(volume => mount(volume, uid)));
  };
  const removePod = async (uid: string): Promise<void> => {
    await Promise.all((pods.get(uid) ?? []).map(volume => unmount(volume, uid)));
    pods.delete(uid);
  };
  return {
    paths,
    plugins,
    calls: runner.calls,
    failures: runner.failures,
    runPod,
    removePod,
    expandVolume: expand,
    drain: async () => void (await Promise.all([...pods.keys()].map(removePod))),
    async reconstruct(wanted) {
      const found = manager.reconstruct();
      const lost = found.filter(({ podUid }) => !wanted.some(({ uid }) => uid === podUid));
      for (const { podUid, volume } of lost) adopt(volume, podUid);
      await Promise.all(wanted.map(runPod));
      await Promise.all(lost.map(({ podUid, volume }) => unmount(volume, podUid)));
    },
    stop() {
      runner.stop();
      plugins.stop();
    },
  };
}

type Runner = ReturnType<typeof createRunner>;

/** Runs steps until they succeed, with growing pauses. */
function createRunner(plugins: PluginWatcher) {
  const calls: string[] = [];
  const failures: string[] = [];
  let isStopped = false;
  return {
    calls,
    failures,
    stop: () => void (isStopped = true),
    async run(name: string, volume: VolumeKey, step: Step): Promise<void> {
      const deadlineMs = Date.now() + patienceMs;
      for (let pauseMs = minPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
        if (isStopped) throw new Error('kubelet is stopped');
        try {
          await withDriver(plugins, volume.driver, step);
          calls.push(`${name} ${volume.name}`);
          return;
        } catch (error) {
          const failure = `${name} ${volume.name}: ${(error as Error).message}`;
          failures.push(failure);
          if (Date.now() > deadlineMs || isInUse(name, error)) throw new Error(failure, { cause: error });
          await pause(pauseMs);
        }
      }
    },
  };
}

function isInUse(name: string, error: unknown): boolean {
  return name === 'NodeExpandVolume' && error instanceof Problem && error.code === 'FAILED_PRECONDITION';
}

/**
 * Tracks the volumes that this kubelet has staged and the pods that use them; runs one operation at a time for each
 * volume.
 */
function createMounts(manager: VolumeManager, { run }: Runner) {
  const staged = new Set<string>();
  const users = new Map<string, Set<string>>();
  const inTurn = createKeyedQueue();
  const adopt = ({ handle }: VolumeKey, uid: string): void =>
    void users.set(handle, (users.get(handle) ?? new Set()).add(uid));
  return {
    /** Records a pod as a user of the volume, as it was before a restart. */
    adopt,
    mount: (volume: VolumeSpec, uid: string) =>
      inTurn(volume.handle, async () => {
        if (!staged.has(volume.handle)) await run('NodeStageVolume', volume, manager.mountDevice(volume));
        staged.add(volume.handle);
        adopt(volume, uid);
        await run('NodePublishVolume', volume, manager.setUp(volume, uid));
      }),
    unmount: (volume: VolumeKey, uid: string) =>
      inTurn(volume.handle, async () => {
        await run('NodeUnpublishVolume', volume, manager.tearDown(volume, uid));
        users.get(volume.handle)?.delete(uid);
        if (users.get(volume.handle)?.size) return;
        await run('NodeUnstageVolume', volume, manager.unmountDevice(volume));
        staged.delete(volume.handle);
      }),
    expand: (volume: VolumeSpec, requiredBytes: number) =>
      inTurn(volume.handle, async () => {
        const [uid] = users.get(volume.handle) ?? [];
        if (uid === undefined) throw new Error(`no pod uses ${volume.name}`);
        await run('NodeExpandVolume', volume, manager.expandInUse(volume, uid, requiredBytes));
      }),
  };
}

/** Runs a step over a connection of its own, as kubelet does. */
async function withDriver(plugins: PluginWatcher, name: string, step: Step): Promise<void> {
  const driver = plugins.drivers.get(name);
  if (!driver) throw new Error(`driver name ${name} not found in the list of registered CSI drivers`);
  const client: CsiClient = connectCsi(`unix://${driver.endpoint}`);
  try {
    await step(client);
  } finally {
    client.close();
  }
}
