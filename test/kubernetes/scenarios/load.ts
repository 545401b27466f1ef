import { waitFor } from '../cluster/wait.ts';
import { floorClass, withFloor } from '../floor/floor.ts';
import type { Installation } from '../installation/installation.ts';
import { claim, pod } from './manifests.ts';
import { inWorkspace, type Figures, type Scenarios, type Workspace } from './workspace.ts';

/** How many claims and pods there are at once, and how often one alone is started. */
const [many, rounds] = [200, 5];

/** All on one node, since the driver that does nothing is there alone. */
const node = 'east-1';

/** Where a pod has its volume: from a class, or in an empty directory. */
type Kind = 'empty' | 'floor' | 'fast';

/** What needs minutes and the whole machine. */
export const loadScenarios: Scenarios = {
  '200 pods that are applied at once run, each with an empty directory': installation =>
    measure(installation, 'empty'),
  '200 claims and pods that are applied at once run, with a driver that does nothing': installation =>
    withFloor(installation, () => measure(installation, 'floor')),
  '200 claims and pods that are applied at once run': installation => measure(installation, 'fast'),
};

/** Measures one and many, and resolves once all of them are gone. */
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
  if (kind === 'empty') return [pod(name, { volume: { emptyDir: {} }, node, isUnasked: true })];
  const ofClass = kind === 'floor' ? floorClass : kind;
  return [claim(name, { class: ofClass }), pod(name, { claim: name, node, isUnasked: true })];
}

/** From applying them until all pods run, in milliseconds. */
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
