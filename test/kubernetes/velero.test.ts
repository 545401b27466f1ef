import { describe } from 'node:test';
import { whyNoCluster } from './build/main.ts';
import { openInstallationSite } from './installation/installation.ts';
import { untilNothingIsLeft } from './scenarios/leftovers.ts';
import { openWorkspace } from './scenarios/workspace.ts';
import { useSite } from './suite.ts';
import { installBackups, requireCompleted, type Backups } from './velero/backups.ts';
import { openShop, readShop, requireShop, shop, writeFile } from './velero/shop.ts';

const skip = whyNoCluster() || whyNoCluster(['velero']);

describe('Velero backs up volumes of pods that write, as the guide says', { skip }, () => {
  const scenario = useSite(openInstallationSite, installBackups);

  scenario('snapshots are restored beside the app and in another cluster', async backups => {
    const { east, guide } = backups;
    const at = await openShop(east.cluster);
    const state = await readShop(at);
    await guide.follow('backup create snapshots');
    await requireCompleted(east, 'backup', 'snapshots');
    await writeFile(at, 'after-snapshots');
    await guide.follow('restore create same ');
    await guide.follow('restore create other ');
    await requireRestored(backups, ['same', 'other'], { state, absent: 'after-snapshots' });
  });

  scenario('data in a bucket are restored beside the app and in another cluster', async backups => {
    const { east, guide } = backups;
    const at = openWorkspace(east.cluster, shop);
    const state = await readShop(at);
    await guide.follow('backup create data');
    await requireCompleted(east, 'backup', 'data');
    await writeFile(at, 'after-data');
    await guide.follow('restore create other-data ');
    await requireRestored(backups, ['same-data', 'other-data'], { state, absent: 'after-data' });
  });

  scenario('nothing is left of the app and of its backups once they are deleted', async backups => {
    const { east, west, gateway, guide } = backups;
    await east.cluster.kubectl('delete', 'namespace', shop, '--timeout=180s');
    await guide.follow('backup delete');
    await untilNothingIsLeft(gateway, [east, west]);
  });
});

type Expected = { readonly state: Parameters<typeof requireShop>[1]; readonly absent: string };

/** Fails unless a restore in the app's cluster and one in the other are complete, and have the same bytes. */
async function requireRestored(
  { east, west }: Backups,
  names: readonly [string, string],
  { state, absent }: Expected,
): Promise<void> {
  for (const [index, served] of [east, west].entries()) {
    const name = names[index] ?? '';
    await requireCompleted(served, 'restore', name);
    await requireShop(openWorkspace(served.cluster, name), state, absent);
  }
}
