import assert from 'node:assert/strict';
import { claimSpec, pod, type ClaimOptions, type PodOptions } from '../manifests.ts';
import { inWorkspace, type Scenarios, type Workspace } from '../workspace.ts';

const pods = 10;
const rounds = 5;

/** A script that fails, so that the pod is not ready, if it finds another pod's name in its volume. */
const script = `[ ! -e /data/name ] || [ "$(cat /data/name)" = "$(hostname)" ]
  hostname > /data/name; echo started >> /data/starts; sync`;

/** Scenarios of a StatefulSet that is scaled up and down. */
export const statefulSetScenarios: Scenarios = {
  'ten pods of a StatefulSet find their own bytes again each time that it is scaled up': ({ east }) =>
    inWorkspace(east.cluster, 'stateful', async at => {
      await at.apply(statefulSet('ten', { script }));
      for (let round = 0; round < rounds; round++) {
        await scale(at, pods);
        await at.untilReads('statefulset/ten', '{.status.readyReplicas}', new RegExp(`^${pods}$`));
        if (round === rounds - 1) await requireStarts(at);
        await scale(at, 0);
        await at.untilReads('pods', '{.items[*].metadata.name}', /^$/);
        const phases = await at.kubectl('get', 'pvc', '--output', 'jsonpath={.items[*].status.phase}');
        assert.equal(phases, Array(pods).fill('Bound').join(' '));
      }
    }),
};

/**
 * Makes the manifest of a StatefulSet with pods as `pod` makes them and a claim for each; it starts without pods.
 */
export function statefulSet(name: string, options: PodOptions, claims: ClaimOptions = {}): object {
  const labels = { app: name };
  const template = pod(name, options) as { readonly spec: { readonly volumes: readonly object[] } };
  const { volumes: _, ...spec } = template.spec;
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name },
    spec: {
      replicas: 0,
      serviceName: name,
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec(claims) }],
    },
  };
}

const scale = (at: Workspace, replicas: number) =>
  at.kubectl('scale', 'statefulset', '--all', `--replicas=${replicas}`);

async function requireStarts(at: Workspace): Promise<void> {
  const counts = Array.from({ length: pods }, (_, index) =>
    at.exec(`ten-${index}`, 'wc', '-l', '/data/starts'),
  );
  assert.deepEqual(await Promise.all(counts), Array(pods).fill(`${rounds} /data/starts`));
}
