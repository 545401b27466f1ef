import assert from 'node:assert/strict';
import { waitFor } from '../cluster/wait.ts';
import type { Installation } from '../installation/installation.ts';
import { releaseNamespace } from '../installation/release.ts';
import { claim, pod } from './manifests.ts';
import { inWorkspace, type Scenarios } from './workspace.ts';

/** Scenarios of a whole node or cluster; no other scenario may run there meanwhile. */
export const nodeScenarios: Scenarios = {
  'a node that left its cluster is forgotten, and known again when it joins': async ({ west, gateway }) => {
    const { cluster, nodes } = west;
    const isKnown = () => gateway.count('nodes', "cluster = 'west' and node_id like ?", 'west-1~%') === 1;
    assert.ok(isKnown());
    await nodes[0]?.kubelet().end();
    await cluster.kubectl('delete', 'node', 'west-1', '--timeout=180s');
    await waitFor('the gateway to forget the node', () => !isKnown() || undefined);
    nodes[0]?.startKubelet();
    await waitFor('the gateway to know the node', () => isKnown() || undefined);
    await inWorkspace(cluster, 'rejoined', async at => {
      await at.apply(claim('data'), pod('app', { claim: 'data' }));
      await at.untilReady('app');
    });
  },

  'a release that is uninstalled leaves volumes and nothing else, and one that comes after serves them':
    async ({ west }) => {
      const { cluster, release } = west;
      await inWorkspace(cluster, 'kept', async at => {
        await at.apply(claim('data'), pod('first', { claim: 'data', script: 'echo kept > /data/file' }));
        await at.untilReady('first');
        await at.remove('pod/first');
        await at.kubectl('wait', '--for=delete', 'volumeattachments', '--all', '--timeout=180s');
        await release.uninstall();
        await waitFor('all of the release to be gone', async () => {
          assert.deepEqual(await objectsOfRelease(west), []);
          return true;
        });
        await at.untilReads('csinode/west-1', '{.spec.drivers[*].name}', /^$/);
        await at.untilReads('pvc/data', '{.status.phase}', /^Bound$/);
        await release.install();
        await at.apply(pod('second', { claim: 'data' }));
        await at.untilReady('second');
        assert.equal(await at.exec('second', 'cat', '/data/file'), 'kept');
      });
    },
};

/** Lists the objects with the chart's label, and the objects in its namespace that were not there before it. */
async function objectsOfRelease({ cluster }: Installation['west']): Promise<readonly string[]> {
  const list = async (...args: readonly string[]) =>
    (await cluster.kubectl(...args)).split('\n').filter(Boolean);
  const kinds = await list('api-resources', '--verbs', 'list', '--output', 'name');
  const selector = ['--selector', 'app.kubernetes.io/name=fairlead'];
  const labelled = await list('get', kinds.join(','), '--all-namespaces', ...selector, '--output', 'name');
  const own = 'pods,configmaps,secrets,csistoragecapacities,leases';
  const inNamespace = await list('get', own, '--namespace', releaseNamespace, '--output', 'name');
  const before = new Set(['configmap/kube-root-ca.crt', 'secret/fairlead-key']);
  return [...labelled, ...inNamespace.filter(name => !before.has(name))];
}
