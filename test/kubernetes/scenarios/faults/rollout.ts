import { poll } from '../../../../src/lib/concurrency.ts';
import { parseJson } from '../../../../src/lib/json.ts';
import { agent, containersOf, processesOf, type Container } from '../../installation/containers.ts';
import type { EastInstallation, InstalledCluster } from '../../installation/installation.ts';
import { releaseNamespace } from '../../installation/release.ts';
import { inWorkspace, type Figures, type Scenarios } from '../workspace.ts';
import { startWriters } from './writers.ts';

/** Scenarios of pods with volumes on all nodes during an upgrade. */
export const rolloutScenarios: Scenarios<EastInstallation> = {
  'pods on all nodes write on while the release gets another image': ({ east }) =>
    inWorkspace(east.cluster, 'rollout', async at => {
      const writers = await startWriters(
        at,
        east.nodes.map(({ name }) => name),
      );
      const tag = 'upgraded';
      const path = '{.spec.template.spec.containers[0].image}';
      const daemonSet = ['daemonset/fairlead-node', '--namespace', releaseNamespace];
      const image = await east.cluster.kubectl('get', ...daemonSet, '--output', `jsonpath=${path}`);
      for (const { containerd } of east.nodes)
        await containerd.tagImage(`docker.io/library/${image}`, `docker.io/library/fairlead:${tag}`);
      const [times] = await Promise.all([
        timeAgents(east, await containersOf(east, agent)),
        east.release.install(`image.tag=${tag}`),
      ]);
      await writers.requireUnharmed();
      return { ...times, ...(await writers.maxPauses()) };
    }),
};

/** Measures the time from the end of each agent until kubelet has registered its successor. */
async function timeAgents(served: InstalledCluster, agents: readonly Container[]): Promise<Figures> {
  const times = agents.map(async before => {
    const endedAtMs = await whenEnded(before);
    const registeredAtMs = await whenRegistered(served, before);
    return [`agent's end to registration on ${before.node}`, registeredAtMs - endedAtMs] as const;
  });
  return Object.fromEntries(await Promise.all(times));
}

async function whenEnded(container: Container): Promise<number> {
  const [pid = 0] = await processesOf(container);
  const look = () => (isRunning(pid) ? undefined : Date.now());
  return seen(await poll(look, { everyMs: 20, timeoutMs: 180_000 }), `the end of ${container.pod}`);
}

/** Reads the time of the registration from the agent's own log. */
async function whenRegistered(served: InstalledCluster, before: Container): Promise<number> {
  const look = async () => {
    const after = (await containersOf(served, agent)).find(
      ({ node, id }) => node === before.node && id !== before.id,
    );
    if (after === undefined) return undefined;
    const log = await served.cluster.kubectl('logs', after.pod, '--namespace', releaseNamespace);
    const line = log.split('\n').find(text => text.includes('registered with kubelet'));
    return line === undefined ? undefined : Date.parse(Object(parseJson(line)).time);
  };
  return seen(await poll(look, { everyMs: 500, timeoutMs: 180_000 }), `an agent on ${before.node}`);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function seen(timeMs: number | undefined, what: string): number {
  if (timeMs === undefined) throw new Error(`waited in vain for ${what}`);
  return timeMs;
}
