import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Host } from '../../../../node-agent/host.ts';
import { expand } from '../../../../node-agent/volumes/size.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage } from '../../../../node-agent/volumes/stage.ts';
import { pause } from '../../../../src/lib/concurrency.ts';
import { block, openFakeBench, openNode, serviceOf, startAgent, type Bench } from '../../../harness/node.ts';
import { openFakeShares, shareRequest, type ShareRequest } from '../../../harness/node/shares.ts';

const count = 50;
const manyTargets = { accessMode: 'SINGLE_NODE_MULTI_WRITER' } as const;

/** Wraps a host whose mounts and unmounts take a while, and counts the maximum of concurrent ones. */
function observe(host: Host) {
  const seen = { running: 0, max: 0 };
  const run: Host['run'] = async (command, args, options) => {
    if (!command.endsWith('mount')) return host.run(command, args, options);
    seen.max = Math.max(seen.max, ++seen.running);
    await pause(1);
    const result = await host.run(command, args, options);
    seen.running--;
    return result;
  };
  return { seen, host: { ...host, run } };
}

const kinds: Readonly<
  Record<string, () => Promise<{ readonly bench: Bench; readonly request: ShareRequest }>>
> = {
  'a filesystem': () => openNode(openFakeBench(), { capability: manyTargets }),
  'a block volume': () => openNode(openFakeBench(), { capability: { ...block, ...manyTargets } }),
  async 'a share'() {
    const bench = openFakeShares();
    return { bench, request: shareRequest(bench, bench.nfs('one')) };
  },
};

for (const [kind, open] of Object.entries(kinds))
  test(`${count} publishes and unpublishes of ${kind} run side by side, and none is refused or forgotten`, async () => {
    const { bench, request } = await open();
    const { host, seen } = observe(bench.host);
    const agent = { ...(await startAgent(bench)), host };
    const { ask } = serviceOf(agent, request);
    const paths = Array.from({ length: count }, (_, index) => `${bench.directory}/pods/${index}`);
    const forAll = (work: (target_path: string) => Promise<unknown>) => Promise.all(paths.map(work));
    const mounted = async () =>
      (await bench.host.mounts()).map(({ path }) => path).filter(path => paths.includes(path));
    const recorded = () => (agent.records.get('c.v')?.targets ?? []).map(({ path }) => path).toSorted();

    await ask('NodeStageVolume');
    await forAll(target_path => ask('NodePublishVolume', { target_path }));
    assert.ok(seen.max > 1, 'they run side by side');
    assert.deepEqual((await mounted()).toSorted(), paths.toSorted());
    assert.deepEqual(recorded(), paths.toSorted());
    const restarted = await startAgent(bench);
    assert.equal(restarted.records.get('c.v')?.targets.length, count, 'the next agent knows all of them');

    seen.max = 0;
    await forAll(target_path => ask('NodeUnpublishVolume', { target_path }));
    assert.ok(seen.max > 1, 'they run side by side');
    assert.deepEqual([await mounted(), recorded()], [[], []]);
  });

test('one of two concurrent publishes of a volume that may have one path is refused', async () => {
  const { bench, agent, request } = await openNode(openFakeBench(), {
    capability: { accessMode: 'SINGLE_NODE_SINGLE_WRITER' },
  });
  const { ask } = serviceOf(agent, request);
  await ask('NodeStageVolume');
  const outcomes = await Promise.allSettled(
    ['one', 'two'].map(name => ask('NodePublishVolume', { target_path: `${bench.directory}/pods/${name}` })),
  );
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
});

test('a block volume whose device is unknown is connected once for all of its publishes', async () => {
  const { bench, agent, request } = await openNode(openFakeBench(), {
    capability: { ...block, ...manyTargets },
  });
  await stage(agent, request);
  const restarted = await startAgent(bench);
  const record = restarted.records.get('c.v') ?? assert.fail();
  assert.equal(record.device, undefined);
  const paths = ['one', 'two', 'three'].map(name => `${bench.directory}/pods/${name}`);
  await Promise.all(paths.map(targetPath => publish(restarted, { ...request, targetPath })));
  assert.equal(bench.host.state.loops.size, 1);
  assert.equal(restarted.records.get('c.v')?.targets.length, 3);
  await Promise.all(paths.map(targetPath => unpublish(restarted, { ...request, targetPath })));
  assert.equal(restarted.records.get('c.v')?.targets.length, 0);
  await expand(restarted, { volumeId: 'c.v', path: request.stagingPath, requiredBytes: 0, limitBytes: 0 });
});
