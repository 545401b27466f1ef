import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test, type TestContext } from 'node:test';
import type { Problem } from '../../../../src/api/problem.ts';
import type { FilesystemName } from '../../../../src/api/filesystems.ts';
import { filesystems } from '../../../../node-agent/filesystems/index.ts';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { examine, examineAll } from '../../../../node-agent/volumes/health.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { expand } from '../../../../node-agent/volumes/size.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { topMount } from '../../../../src/lib/linux/mountinfo.ts';
import { loopDevicesOf } from '../../../harness/machine.ts';
import {
  defaultImageBytes,
  measure,
  openRealBench,
  openNode,
  putUp,
  real,
  startAgent,
  takeDown,
} from '../../../harness/node.ts';

/** Opens a volume that a pod uses. */
async function openPublished(t: TestContext, fsType: FilesystemName) {
  // Even after a failure nothing waits forever: this runs before the mounts are removed.
  t.after(() => paths.forEach(path => spawnSync('fsfreeze', ['--unfreeze', path])));
  const bench = openRealBench(t);
  const capability = { fsType, accessMode: 'SINGLE_NODE_MULTI_WRITER' } as const;
  const { agent, request } = await openNode(bench, { capability });
  const paths = [request.targetPath, request.stagingPath];
  await putUp(agent, request);
  const freeze = (flag: '--freeze' | '--unfreeze'): void => {
    execFileSync('fsfreeze', [flag, request.targetPath]);
  };
  return { bench, agent, request, freeze };
}

/** Writes as a pod does; fails if the write blocks. */
function write(path: string): void {
  execFileSync('timeout', ['--signal=KILL', '10', 'tee', `${path}/file`], {
    input: 'data',
    stdio: ['pipe', 'ignore', 'inherit'],
  });
}

test(
  'on a busy machine an xfs grows although the look at a freeze takes seconds',
  real('mkfs.xfs'),
  async t => {
    const bench = openRealBench(t);
    const run: typeof bench.host.run = (command, args, options) =>
      command === 'xfs_io'
        ? bench.host.run('sh', ['-c', 'sleep 3; exec "$@"', 'sh', command, ...args], options)
        : bench.host.run(command, args, options);
    const slow = { ...bench, host: { ...bench.host, run } };
    const { agent, request } = await openNode(slow, { capability: { fsType: 'xfs' } });
    await putUp(agent, request);
    const { volumeId, targetPath: path, attachment } = request;
    const sizeBytes = 2 * defaultImageBytes;
    bench.resizeImage(attachment.path, sizeBytes);
    assert.equal(await expand(agent, { volumeId, path, requiredBytes: sizeBytes, limitBytes: 0 }), sizeBytes);
    const readings = createReadings(agent);
    assert.deepEqual(await examine(agent, readings, { volumeId, publishPath: path, stagingPath: '' }), []);
    await takeDown(agent, request);
  },
);

for (const { name } of filesystems) {
  const needed = real(`mkfs.${name}`, 'fsfreeze');

  test(`a frozen ${name} leaves the node, even with an agent that was started since`, needed, async t => {
    const { bench, agent, request, freeze } = await openPublished(t, name);
    write(request.targetPath);
    freeze('--freeze');
    await unpublish(agent, request);
    await unstage(await startAgent(bench), request);
    assert.deepEqual(loopDevicesOf(bench.directory), []);
    assert.deepEqual(
      await bench.host.mounts().then(mounts => mounts.filter(({ path }) => path.startsWith(bench.directory))),
      [],
    );
  });

  test(`a ${name} that an earlier pod left frozen is thawed for the next one`, needed, async t => {
    const { bench, agent, request, freeze } = await openPublished(t, name);
    for (const next of [agent, await startAgent(bench)]) {
      freeze('--freeze');
      await unpublish(next, request);
      await publish(next, request);
      write(request.targetPath);
      freeze('--freeze');
      await unpublish(next, request);
      await stage(next, request);
      write(request.stagingPath);
      await publish(next, request);
    }
    await takeDown(agent, request);
  });

  test(`a ${name} in use by a pod stays frozen: a backup may be running`, needed, async t => {
    const { agent, request, freeze } = await openPublished(t, name);
    freeze('--freeze');
    const second = { ...request, targetPath: `${request.targetPath}-2` };
    await publish(agent, second);
    await stage(agent, request);
    await unpublish(agent, second);
    // Throws unless it is frozen.
    freeze('--unfreeze');
    await takeDown(agent, request);
  });

  test(`a ${name} that was unmounted while frozen is thawed by the next stage`, needed, async t => {
    const { bench, agent, request, freeze } = await openPublished(t, name);
    freeze('--freeze');
    for (const path of [request.targetPath, request.stagingPath]) execFileSync('umount', ['--', path]);
    await putUp(agent, request);
    write(request.targetPath);
    await takeDown(agent, request);
    assert.deepEqual(loopDevicesOf(bench.directory), []);
  });

  if (name !== 'btrfs')
    test(`a freeze of an idle ${name} writes to its device`, needed, async t => {
      const { bench, agent, request, freeze } = await openPublished(t, name);
      const { device } = topMount(await bench.host.mounts(), request.targetPath) ?? assert.fail();
      const readWrites = async () =>
        Number((await bench.host.readText(`/sys/dev/block/${device}/stat`))?.trim().split(/ +/)[4]);
      // A second freeze has nothing else to write.
      for (const flag of ['--freeze', '--unfreeze'] as const) freeze(flag);
      const before = await readWrites();
      freeze('--freeze');
      assert.ok((await readWrites()) > before);
      freeze('--unfreeze');
      await takeDown(agent, request);
    });

  test(`a frozen ${name} is reported, and grown once it is thawed`, needed, async t => {
    const { bench, agent, request, freeze } = await openPublished(t, name);
    const { volumeId, targetPath: path } = request;
    const readings = createReadings(agent);
    const look = async () => {
      const faults = await examine(agent, readings, { volumeId, publishPath: path, stagingPath: '' });
      const [all] = await examineAll(agent);
      return { faults: faults.map(({ status, reason }) => `${status} ${reason}`), metrics: all?.faults };
    };
    const sound = { faults: [], metrics: [] };
    assert.deepEqual(await look(), sound);
    freeze('--freeze');
    const frozen = { faults: ['DEGRADED Frozen'], metrics: ['Frozen'] };
    assert.deepEqual([await look(), await look()], [frozen, frozen]);
    await measure(agent, { volumeId, path });
    assert.deepEqual((await examineAll(agent))[0]?.faults, ['Frozen']);
    bench.resizeImage(request.attachment.path, 2 * defaultImageBytes);
    const asked = { volumeId, path, requiredBytes: 2 * defaultImageBytes, limitBytes: 0 };
    await assert.rejects(expand(agent, asked), {
      code: 'UNAVAILABLE',
      detail: /^the filesystem of volume "c\.v" is frozen: /,
    });
    freeze('--unfreeze');
    await Promise.all(agent.cache.waiting.values());
    assert.deepEqual(await look(), sound);
    // A container without CAP_SYS_RESOURCE grows an ext4 at its next stage.
    await expand(agent, asked).catch((error: unknown) => {
      assert.equal((error as Problem).code, 'FAILED_PRECONDITION');
      assert.equal(name, 'ext4');
    });
    await takeDown(agent, request);
  });
}
