import assert from 'node:assert/strict';
import { test } from 'node:test';
import { poll } from '../../../src/lib/concurrency.ts';
import { serveCsi } from '../../harness/csi-serving.ts';
import { openFakeBench, openService } from '../../harness/node.ts';

test('a probe is answered, and another volume used, during fifty hanging mounts', async t => {
  const bench = openFakeBench();
  const { run } = bench.host;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let hanging = 0;
  const held: typeof run = async (command, args, options) => {
    if (command === 'mount' && args.some(arg => arg.includes('hung'))) {
      hanging++;
      await released;
    }
    return run(command, args, options);
  };
  const { request, node: handlers } = await openService({ ...bench, host: { ...bench.host, run: held } });
  const { csi } = await serveCsi(t, { node: handlers });
  const { identity, node } = csi;
  const volumes = Array.from({ length: 50 }, (_, index) => ({
    ...request,
    volume_id: `c.hung-${index}`,
    staging_target_path: `${bench.directory}/stage/hung-${index}`,
    publish_context: { ...request.publish_context, path: bench.makeImage(`hung-${index}`) },
  }));
  let answered = 0;
  const staging = volumes.map(volume => node.NodeStageVolume(volume).finally(() => answered++));
  await poll(() => hanging === volumes.length || undefined, { everyMs: 5, timeoutMs: 60_000 });

  assert.deepEqual((await identity.Probe({})).ready, { value: true });
  await node.NodeStageVolume(request);
  await node.NodePublishVolume(request);
  await node.NodeUnpublishVolume(request);
  await node.NodeUnstageVolume(request);
  assert.deepEqual((await identity.Probe({})).ready, { value: true });
  assert.equal(answered, 0);

  release();
  await Promise.all(staging);
});
