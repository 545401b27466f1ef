import assert from 'node:assert/strict';
import { waitFor } from '../cluster/wait.ts';
import { floorClass, withFloor } from '../floor/floor.ts';
import type { Installation } from '../installation/installation.ts';
import { claim, pod, type PodOptions } from './manifests.ts';
import { inWorkspace, type Figures, type Scenarios, type Workspace } from './workspace.ts';

/** The number of concurrent claims and pods, and the number of rounds with a single one. */
const [many, rounds] = [200, 5];

/** The node of all pods, because the driver that does nothing runs only there. */
const node = 'east-1';

/** The kind of a pod's volume: one of a class, or an empty directory. */
type Kind = 'empty' | 'floor' | 'fast';

/** Scenarios that take minutes and the whole machine. */
export const loadScenarios: Scenarios = {
  '200 pods that are applied at once run, each with an empty directory': installation =>
    measure(installation, 'empty'),
  '200 claims and pods that are applied at once run, with a driver that does nothing': installation =>
    withFloor(installation, () => measure(installation, 'floor')),
  '200 claims and pods that are applied at once run': installation => measure(installation, 'fast'),
};

/** The number of pods of one node that use one volume at the same time. */
const crowd = 25;

/** Scenarios of pods on one node that start and end together, each with an empty directory, or all with one volume. */
export const crowdScenarios: Scenarios = {
  '25 pods of one node share a filesystem, and come and go without waiting for one another': async ({
    east,
  }) => {
    return inWorkspace(east.cluster, 'crowd', async at => {
      const empty = await comeAndGo(at, 'empty', { volume: { emptyDir: {} } });
      await at.apply(claim('shared'));
      const shared = await comeAndGo(at, 'shared', { claim: 'shared' });
      // Both times are of one run, so that the speed of the machine does not matter.
      const maxMs = 1.5 * empty.gone + 5_000;
      assert.ok(
        shared.gone <= maxMs,
        `${crowd} pods with a volume took ${shared.gone} ms to go, over ${maxMs} ms`,
      );
      const messages = await at.kubectl('get', 'events', '--output', 'jsonpath={.items[*].message}');
      assert.doesNotMatch(messages, /aborted/i);
      return { ...figuresOf('empty', empty), ...figuresOf('shared', shared) };
    });
  },
};

/** The times until all pods are ready, and until all are gone, in milliseconds. */
type Crowd = { readonly ready: number; readonly gone: number };

async function comeAndGo(at: Workspace, kind: string, volume: PodOptions): Promise<Crowd> {
  const names = Array.from({ length: crowd }, (_, index) => `${kind}-${index}`);
  const ready = await start(
    at,
    names.map(name => pod(name, { ...volume, node, hasNoProbe: true })),
  );
  const startedMs = performance.now();
  await at.remove(...names.map(name => `pod/${name}`));
  const gone = Math.round(performance.now() - startedMs);
  return { ready, gone };
}

function figuresOf(kind: string, { ready, gone }: Crowd): Figures {
  return { [`${crowd} pods with ${kind} run`]: ready, [`${crowd} pods with ${kind} are gone`]: gone };
}

/** Measures one pod and then many, and resolves once all of them are gone. */
function measure({ east }: Installation, kind: Kind): Promise<Figures> {
  return inWorkspace(east.cluster, `load-${kind}`, async at => {
    const one = await medianOfOne(at, kind);
    const all = await startMany(at, kind);
    await at.kubectl('delete', 'pods,pvc', '--all', '--timeout=15m');
    await waitFor('all volumes to be gone', async () => (await volumesOf(at)) === '' || undefined);
    return { [`${kind}, one`]: one, [`${kind}, ${many} at once`]: all };
  });
}

async function medianOfOne(at: Workspace, kind: Kind): Promise<number> {
  const all: number[] = [];
  for (let round = 0; round < rounds; round++) all.push(await start(at, manifestsOf(kind, `one-${round}`)));
  return all.sort((one, other) => one - other)[Math.floor(rounds / 2)] ?? 0;
}

function startMany(at: Workspace, kind: Kind): Promise<number> {
  const names = Array.from({ length: many }, (_, index) => `many-${index}`);
  return start(
    at,
    names.flatMap(name => manifestsOf(kind, name)),
  );
}

function manifestsOf(kind: Kind, name: string): readonly object[] {
  if (kind === 'empty') return [pod(name, { volume: { emptyDir: {} }, node, hasNoProbe: true })];
  const ofClass = kind === 'floor' ? floorClass : kind;
  return [claim(name, { class: ofClass }), pod(name, { claim: name, node, hasNoProbe: true })];
}

/** Measures the time from applying all pods until they run, in milliseconds. */
async function start(at: Workspace, manifests: readonly object[]): Promise<number> {
  const started = performance.now();
  await at.apply(...manifests);
  await at.kubectl('wait', '--for=jsonpath={.status.phase}=Running', 'pod', '--all', '--timeout=15m');
  return Math.round(performance.now() - started);
}

const volumesOf = ({ cluster, name }: Workspace) =>
  cluster.kubectl(
    'get',
    'pv',
    '--output',
    `jsonpath={.items[?(@.spec.claimRef.namespace=="${name}")].metadata.name}`,
  );
