import assert from 'node:assert/strict';
import { pause } from '../../../src/lib/concurrency.ts';
import { waitFor } from '../cluster/wait.ts';
import { containersOf, controller } from '../installation/containers.ts';
import { releaseNamespace } from '../installation/release.ts';
import { claim } from '../scenarios/manifests.ts';
import type { Workspace } from '../scenarios/workspace.ts';
import { hostedGateway } from './guide.ts';
import { servedCluster, type Hosting } from './hosting.ts';

/** The number of claims that are made at least, some at a time with a pause between them. */
const min = 50;
const batch = 5;
const pauseMs = 4_000;

/** Makes claims until the work has ended, and at least 50; resolves once all are bound. */
export async function claimDuring(at: Workspace, name: string, work: () => Promise<void>): Promise<void> {
  const over = new AbortController();
  const makeClaims = async (): Promise<void> => {
    for (let made = 0; !over.signal.aborted || made < min; made += batch) {
      await at.apply(...Array.from({ length: batch }, (_, index) => claim(`${name}-${made + index}`)));
      await pause(pauseMs);
    }
  };
  await Promise.all([work().finally(() => over.abort()), makeClaims()]);
  await at.kubectl('wait', '--for=jsonpath={.status.phase}=Bound', 'pvc', '--all', '--timeout=180s');
}

/** Returns the number of claims; fails unless each has one volume of its own at the replicas and in their storage. */
export async function requireOneVolumeEach(
  at: Workspace,
  { database, operate, storage }: Hosting,
): Promise<number> {
  const names = (await at.kubectl('get', 'pvc', '--output=jsonpath={.items[*].spec.volumeName}')).split(' ');
  const ids = (await database.read(`select id from volumes where cluster = '${servedCluster}'`)).split('\n');
  assert.deepEqual(ids.sort(), names.map(name => `${servedCluster}.${name}`).sort());
  assert.equal(storage.count('volumes', 'cluster = ?', hostedGateway), await countVolumes(database));
  await operate('admin', 'check');
  return names.length;
}

const countVolumes = async (database: Hosting['database']): Promise<number> =>
  Number(await database.read('select count(*) from volumes'));

/** Resolves once the replicas have no volume of the cluster, and their storage has none that they do not have. */
export async function untilNoVolume({ database, storage }: Hosting): Promise<void> {
  await waitFor('all volumes of the cluster to be gone', async () => {
    const count = await database.read(`select count(*) from volumes where cluster = '${servedCluster}'`);
    assert.equal(count, '0');
    assert.equal(storage.count('volumes', 'cluster = ?', hostedGateway), await countVolumes(database));
    return true;
  });
}

/** The number of calls by metric and labels. */
type Calls = ReadonlyMap<string, number>;

/** Reads how many calls the cluster's controller got and made, and with which outcomes. */
export async function callsOf({ served: cluster }: Hosting): Promise<Calls> {
  const [found] = await containersOf({ cluster }, controller);
  const path = `/api/v1/namespaces/${releaseNamespace}/pods/${found?.pod}/proxy/metrics`;
  const metrics = await cluster.kubectl('get', '--raw', path);
  const counters = metrics.matchAll(/^(fairlead_controller_\S+_total\{.*code=.*\}) (\d+)$/gm);
  return new Map(Array.from(counters, ([, name = '', calls]) => [name, Number(calls)]));
}

/** Lists the outcomes other than OK that were added between two counts, with their numbers. */
export function failuresBetween(before: Calls, after: Calls): readonly string[] {
  return [...after].flatMap(([name, calls]) => {
    const more = calls - (before.get(name) ?? 0);
    return more > 0 && !name.includes('code="OK"') ? `${name} ${more}` : [];
  });
}
