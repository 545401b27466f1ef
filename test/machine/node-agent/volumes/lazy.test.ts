import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { findUser } from '../../../../node-agent/host/disk-use.ts';
import { readDisk } from '../../../../node-agent/host/disk.ts';
import { countAbandoned } from '../../../../src/lib/exec.ts';
import { loopDevicesOf, mountsBelow } from '../../../harness/machine.ts';
import { MiB, openRealBench, until, realFuse } from '../../../harness/node.ts';
import { putUp, serveNode, takeDown } from '../../../harness/node/served.ts';
import { coverTargets, hasty, volumeOf } from '../hung-volumes.ts';

/**
 * Opens a published volume that a process uses, covered by a filesystem that hangs, as does the agent's request to it.
 */
async function openHung(t: TestContext, settings: Readonly<Record<string, string>>) {
  const bench = openRealBench(t);
  const client = await serveNode(t, bench.directory, { flags: { ...hasty(bench.directory), ...settings } });
  const volume = volumeOf(bench, bench.makeImage('image', { sizeBytes: 16 * MiB, content: 'ext4' }), 'v');
  await putUp(client, volume);
  const user = spawn('sh', ['-c', 'echo ready && read _'], {
    cwd: volume.target_path,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(user, 'exit');
  t.after(() => user.kill('SIGKILL'));
  await once(user.stdout, 'data');
  const fuse = await coverTargets(t, [volume]);
  await client.node.NodeGetVolumeStats(volume);
  await fuse.hang();
  await client.node.NodeGetVolumeStats(volume);
  await until(() => countAbandoned() === 1);
  const endUse = async (): Promise<void> => {
    user.stdin.end();
    await ended;
  };
  return { ...bench, client, volume, endUse };
}

test('a hanging filesystem in use stays mounted if lazy unmounts are not allowed', realFuse, async t => {
  const { client, volume, endUse } = await openHung(t, {});
  await assert.rejects(client.node.NodeUnpublishVolume(volume), { code: 'UNAVAILABLE' });
  assert.deepEqual(mountsBelow(volume.target_path), [volume.target_path]);
  await endUse();
  await takeDown(client, volume);
});

test('a lazily unmounted volume keeps its device until its last user is gone', realFuse, async t => {
  const { client, volume, directory, host, endUse } = await openHung(t, { 'lazy-unmount': 'true' });
  await client.node.NodeUnpublishVolume(volume);
  assert.deepEqual(mountsBelow(volume.target_path), []);
  const [device = ''] = loopDevicesOf(directory);
  const disk = await readDisk(device.slice('/dev/'.length), host);
  assert.ok(disk);
  for (let tries = 1; tries <= 2; tries++)
    await assert.rejects(client.node.NodeUnstageVolume(volume), { code: 'UNAVAILABLE' });
  assert.deepEqual(mountsBelow(directory), []);
  assert.equal(
    await findUser(disk, host),
    'ext4, mounted where the agent does not see it, or frozen when it was unmounted',
  );
  await endUse();
  await client.node.NodeUnstageVolume(volume);
  assert.deepEqual(loopDevicesOf(directory), []);
});
