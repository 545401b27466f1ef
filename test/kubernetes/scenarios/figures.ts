import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { releaseNamespace } from '../installation/release.ts';
import type { Installation, Served } from '../installation/installation.ts';
import { claim, pod } from './manifests.ts';
import { inWorkspace, type Workspace } from './workspace.ts';

const rounds = 5;

/** How long pods take to run, in milliseconds, and the memory of Fairlead's containers, in MB: in use now, and at its peak. */
export type Figures = {
  readonly times: Readonly<Record<string, number>>;
  readonly memory: Readonly<Record<string, string>>;
};

/** Measures while nothing else is asked of the cluster. */
export async function measure({ east }: Installation): Promise<Figures> {
  const times: Record<string, number> = {};
  await inWorkspace(east.cluster, 'figures', async at => {
    for (const name of ['empty', 'volume'] as const) {
      const all = [];
      for (let round = 0; round < rounds; round++) all.push(await start(at, name, `${name}-${round}`));
      times[name] = Math.round(all.sort((one, other) => one - other)[Math.floor(rounds / 2)] ?? 0);
    }
  });
  return {
    times,
    memory: {
      ...(await memoryOf(east, 'node', 'agent')),
      ...(await memoryOf(east, 'controller', 'controller')),
    },
  };
}

/** From applying a pod, with its claim where it has one, until it runs. */
async function start(at: Workspace, kind: 'empty' | 'volume', name: string): Promise<number> {
  const manifests =
    kind === 'empty' ? [pod(name, { volume: { emptyDir: {} } })] : [claim(name), pod(name, { claim: name })];
  const started = performance.now();
  await at.apply(...manifests);
  await at.kubectl('wait', '--for=jsonpath={.status.phase}=Running', `pod/${name}`, '--timeout=180s');
  return performance.now() - started;
}

/** The memory of a container of the release, on every node that has it. */
async function memoryOf({ cluster }: Served, component: string, container: string) {
  const selector = `app.kubernetes.io/component=${component}`;
  const path = `{range .items[*]}{.spec.nodeName}{" "}{.status.containerStatuses[?(@.name=="${container}")].containerID}{"\\n"}{end}`;
  const pods = ['get', 'pods', '--namespace', releaseNamespace, '--selector', selector];
  const found = await cluster.kubectl(...pods, '--output', `jsonpath=${path}`);
  return Object.fromEntries(
    found.split('\n').map(line => {
      const [node = '', id = ''] = line.split(' ');
      return [`${container} on ${node}`, memoryOfContainer(id.replace('containerd://', ''))];
    }),
  );
}

function memoryOfContainer(id: string): string {
  const [group = ''] = execFileSync('find', ['/sys/fs/cgroup/memory', '-name', id], {
    encoding: 'utf8',
  }).split('\n');
  const read = (file: string) => readFileSync(`${group}/${file}`, 'utf8');
  const inactive = /^total_inactive_file (\d+)$/m.exec(read('memory.stat'))?.[1];
  const [used, peak] = ['memory.usage_in_bytes', 'memory.max_usage_in_bytes'].map(file => Number(read(file)));
  const megabytes = [Number(used) - Number(inactive), Number(used), Number(peak)].map(bytes =>
    Math.round(bytes / 1e6),
  );
  return `${megabytes[0]} MB (${megabytes[1]} with files), at its peak ${megabytes[2]}`;
}
