import { connectCsi, type CsiClient } from '../../src/csi/client.ts';
import { openNode } from '../harness/agent.ts';
import { mountFuse } from '../harness/node-agent-fuse.ts';
import { quantile, timed, type Bench, type Figure } from './figure.ts';
import { inScope } from './scope.ts';

const hung = 50;
const probes = 2_000;
const MiB = 2 ** 20;

/** Whether volumes that hang make the node agent slow. */
export const hungBench: Bench = {
  name: 'hung',
  doc: `Probe while ${hung} volumes hang, beside Probe of the same agent before`,
  run: measureHung,
};

function measureHung(): Promise<readonly Figure[]> {
  return inScope(async scope => {
    const node = openNode(scope);
    const agent = node.startAgent({ 'registration-dir': '' });
    await agent.ready;
    const client = connectCsi(`unix://${node.socket}`);
    scope.after(() => client.close());
    const volumes = Array.from({ length: hung }, (_, index) => {
      const { handle, publishContext } = node.makeVolume(`v${index}`, { sizeBytes: 16 * MiB });
      return {
        volume_id: handle,
        publish_context: publishContext,
        staging_target_path: `${node.root}/stage-${index}`,
        target_path: `${node.root}/pods/v${index}`,
        volume_path: `${node.root}/pods/v${index}`,
        volume_capability: {
          mount: { fs_type: 'ext4' },
          access_mode: { mode: 'SINGLE_NODE_WRITER' as const },
        },
      };
    });
    for (const volume of volumes) {
      await client.node.NodeStageVolume(volume);
      await client.node.NodePublishVolume(volume);
    }
    const covers = volumes.map(({ publish_context: { path = '' }, target_path }) => ({
      image: path,
      target: target_path,
    }));
    const calm = await probeAll(client);
    const fuse = await mountFuse(scope, covers);
    for (const volume of volumes) await client.node.NodeGetVolumeStats(volume);
    await fuse.hang();
    const asked = volumes.map(volume => client.node.NodeGetVolumeStats(volume));
    const during = await probeAll(client);
    await Promise.all(asked);
    fuse.end();
    for (const volume of volumes) {
      await client.node.NodeUnpublishVolume(volume);
      await client.node.NodeUnstageVolume(volume);
    }
    const figure = (name: string, share: number, target?: string): Figure => ({
      name,
      value: quantile(during, share),
      unit: 'ms',
      floor: { name: 'before any hung', value: quantile(calm, share) },
      ...(target !== undefined && { target }),
    });
    return [
      figure(`Probe with ${hung} hung, median`, 0.5),
      figure(`Probe with ${hung} hung, p99`, 0.99, '≤ 50 ms'),
      figure(`Probe with ${hung} hung, worst`, 1),
    ];
  });
}

async function probeAll(client: CsiClient): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let index = 0; index < probes; index++) samples.push(await timed(() => client.identity.Probe({})));
  return samples;
}
