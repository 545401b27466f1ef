import { waitFor } from '../cluster/wait.ts';
import { releaseNamespace } from '../installation/release.ts';
import type { Installation, InstalledCluster } from '../installation/installation.ts';
import { claim, pod } from './manifests.ts';
import { inWorkspace, type Figures, type Workspace } from './workspace.ts';

const rounds = 5;

/**
 * Measures three times on otherwise idle clusters, in milliseconds: from applying the DaemonSet until the driver is
 * registered, and from applying a pod until it runs, with an empty volume, and with a claim of ours.
 */
export async function measureTimes({ east, west }: Installation): Promise<Figures> {
  const times: Record<string, number> = { registration: await register(west) };
  await inWorkspace(east.cluster, 'figures', async at => {
    for (const name of ['empty', 'volume'] as const) {
      const all = [];
      for (let round = 0; round < rounds; round++) all.push(await start(at, name, `${name}-${round}`));
      times[name] = Math.round(all.sort((one, other) => one - other)[Math.floor(rounds / 2)] ?? 0);
    }
  });
  return times;
}

/** Measures the time from applying the DaemonSet until kubelet has registered the driver. */
async function register({ cluster }: InstalledCluster): Promise<number> {
  const name = ['--namespace', releaseNamespace, 'daemonset/fairlead-node'];
  const found = JSON.parse(await cluster.kubectl('get', ...name, '--output', 'json'));
  const { namespace, labels, annotations } = found.metadata;
  const metadata = { name: found.metadata.name, namespace, labels, annotations };
  await cluster.kubectl('delete', ...name, '--cascade=foreground', '--timeout=180s');
  const csiNode = 'csinode/west-1';
  const until = async (condition: string) =>
    void (await cluster.kubectl('wait', `--for=${condition}`, csiNode, '--timeout=180s'));
  await waitFor('the driver to be gone', async () => {
    const drivers = await cluster.kubectl('get', csiNode, '--output', 'jsonpath={.spec.drivers[*].name}');
    return drivers === '' || undefined;
  });
  const started = performance.now();
  await cluster.apply({ ...found, metadata, status: undefined });
  await until('jsonpath={.spec.drivers[0].name}=csi.fairlead.dev');
  const tookMs = performance.now() - started;
  await cluster.kubectl('rollout', 'status', ...name, '--timeout=180s');
  return Math.round(tookMs);
}

/** Measures the time from applying a pod, and its claim if it has one, until it runs. */
async function start(at: Workspace, kind: 'empty' | 'volume', name: string): Promise<number> {
  const manifests =
    kind === 'empty'
      ? [pod(name, { volume: { emptyDir: {} } })]
      : [claim(name, { class: 'fast' }), pod(name, { claim: name })];
  const started = performance.now();
  await at.apply(...manifests);
  await at.kubectl('wait', '--for=jsonpath={.status.phase}=Running', `pod/${name}`, '--timeout=180s');
  return performance.now() - started;
}
