import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { createVolumeLock } from '../../../../node-agent/volumes/volume-lock.ts';
import { loopDevicesOf, mountsBelow } from '../../../harness/machine.ts';
import { block, measure, openNode, putUp, real, takeDown } from '../../../harness/node.ts';

for (const fsType of ['ext4', 'xfs', 'btrfs']) {
  test(`a new ${fsType} volume keeps its data over a whole cycle`, real(`mkfs.${fsType}`), async t => {
    const capability = { accessMode: 'SINGLE_NODE_MULTI_WRITER', fsType } as const;
    const { bench, agent, request } = await openNode(t, { capability });
    await putUp(agent, request);
    assert.match(agent.records.get('c.v')?.device?.diskseq ?? '', /^\d+$/);
    writeFileSync(`${request.targetPath}/file`, 'data');
    const { bytes } = await measure(agent, { volumeId: 'c.v', path: request.targetPath });
    assert.ok(bytes.total > 2 ** 27 && (bytes.available ?? 0) > 0);
    await takeDown(agent, request);
    assert.equal(existsSync(request.targetPath), false);
    assert.deepEqual(loopDevicesOf(bench.directory), []);
    await stage(agent, { ...request, attachment: { ...request.attachment, mayFormat: false } });
    await publish(agent, { ...request, readonly: true });
    assert.equal(readFileSync(`${request.targetPath}/file`, 'utf8'), 'data');
    assert.throws(() => writeFileSync(`${request.targetPath}/other`, ''), { code: 'EROFS' });
    await takeDown(agent, request);
  });

  test(`a read-only ${fsType} attachment is not written`, real(`mkfs.${fsType}`), async t => {
    const { bench, agent, request } = await openNode(t, {
      image: { content: fsType },
      capability: { accessMode: 'MULTI_NODE_READER_ONLY', fsType },
    });
    const before = bench.copyImage(request.attachment.path);
    await putUp(agent, request);
    assert.throws(() => writeFileSync(`${request.targetPath}/file`, ''), { code: 'EROFS' });
    await takeDown(agent, request);
    execFileSync('cmp', [request.attachment.path, before]);
  });
}

test('a volume whose unmount is refused stays in use, and is unstaged once it is unused', real(), async t => {
  const { bench, agent, request } = await openNode(t, { image: { content: 'ext4' } });
  await stage(agent, request);
  const user = openSync(`${request.stagingPath}/file`, 'w');
  await assert.rejects(unstage(agent, request), { code: 'UNAVAILABLE' });
  await publish(agent, request);
  writeFileSync(user, 'data');
  closeSync(user);
  assert.equal(readFileSync(`${request.targetPath}/file`, 'utf8'), 'data');
  await takeDown(agent, request);
  assert.deepEqual(loopDevicesOf(bench.directory), []);
});

test('a block volume is its own device and keeps its data', real(), async t => {
  const { bench, agent, request } = await openNode(t, { capability: block });
  await putUp(agent, request);
  await publish(agent, request);
  assert.deepEqual(await measure(agent, { volumeId: 'c.v', path: request.targetPath }), {
    bytes: { total: 320 * 2 ** 20 },
  });
  writeFileSync(request.targetPath, 'data', { flag: 'r+' });
  await takeDown(agent, request);
  assert.equal(existsSync(request.targetPath), false);
  assert.deepEqual(loopDevicesOf(bench.directory), []);
  assert.equal(readFileSync(request.attachment.path).subarray(0, 4).toString(), 'data');
});

test('the kernel prevents writes to a read-only block volume', real(), async t => {
  const readonly = { readonly: true };
  const opened = await openNode(t, { capability: block, attachment: readonly });
  const request = { ...opened.request, ...readonly };
  await putUp(opened.agent, request);
  assert.throws(() => writeFileSync(request.targetPath, 'data', { flag: 'r+' }), { code: 'EPERM' });
  await takeDown(opened.agent, request);
});

for (const [kind, capability] of Object.entries({
  'an ext4': { accessMode: 'SINGLE_NODE_MULTI_WRITER' },
  'a block volume': { ...block, accessMode: 'SINGLE_NODE_MULTI_WRITER' },
} as const))
  test(`fifty pods that get and lose ${kind} at the same time do not refuse each other`, real(), async t => {
    const { bench, agent, request } = await openNode(t, { capability });
    // A busy machine takes long for a hundred mounts.
    const inTurn = createVolumeLock(agent, 300_000);
    await stage(agent, request);
    const targets = Array.from({ length: 50 }, (_, index) => ({
      ...request,
      targetPath: `${request.targetPath}-${index}`,
    }));
    const forAll = (operation: string, work: typeof publish) =>
      Promise.all(
        targets.map(target => {
          const at = { volumeId: 'c.v', path: target.targetPath, isShared: true };
          return inTurn(operation, at, own => work(own, target));
        }),
      );
    await forAll('NodePublishVolume', publish);
    assert.equal(mountsBelow(`${bench.directory}/pods`).length, 50);
    await forAll('NodeUnpublishVolume', unpublish);
    assert.deepEqual(mountsBelow(`${bench.directory}/pods`), []);
    await unstage(agent, request);
    assert.deepEqual(loopDevicesOf(bench.directory), []);
  });
