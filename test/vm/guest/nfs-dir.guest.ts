import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type CsiClient } from '../../../src/csi/client.ts';
import { topMount } from '../../../src/lib/linux/mountinfo.ts';
import { directoryOf, mountsBelow } from '../../harness/machine.ts';
import { startTrio } from '../../harness/trio.ts';
import type { VolumeFields } from '../../harness/node/served.ts';
import { host, volumesOver } from './agent.ts';
import { startNfsServer } from '../targets/nfs-server.ts';
import { clientOf } from '../../harness/csi-serving.ts';

const volume_capability = { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' as const } };
const sizeBytes = 16 * 2 ** 20;
const server = await startNfsServer({ after }, 2);

test('two nodes use a volume of the dir backend over a real NFS server, from create to delete', async t => {
  const dir = realpathSync(directoryOf(t));
  const root = join(server.root, 'volumes');
  mkdirSync(root);
  const nfs = { server: server.address, path: '/volumes' };
  const pool = { backend: 'dir', dir: root, capacity: '1Ti', nfs };
  const shared = await startTrio(t, { dir, pool, nodeNames: ['n1', 'n2'] });
  const { controller } = clientOf(t, shared.controller);
  const { volume } = await controller.CreateVolume({
    name: 'shared',
    capacity_range: { required_bytes: sizeBytes },
    volume_capabilities: [volume_capability],
  });
  const volume_id = volume?.volume_id ?? '';
  const directory = join(root, volume_id);

  const uses: Use[] = [];
  for (const { nodeId, endpoint, directory: home } of shared.nodes) {
    const attached = { volume_id, node_id: nodeId };
    const { publish_context } = await controller.ControllerPublishVolume({ ...attached, volume_capability });
    const { protocol, server: name, path } = publish_context;
    assert.deepEqual([protocol, name, path], ['nfs', server.address, `/volumes/${volume_id}`]);
    const [staging_target_path, target_path] = [join(home, 'staging'), join(home, 'target')];
    mkdirSync(staging_target_path);
    const fields = { volume_id, publish_context, staging_target_path, target_path, volume_capability };
    const use = { client: clientOf(t, endpoint), fields };
    uses.push({ ...use, detach: () => controller.ControllerUnpublishVolume(attached) });
    for (const _ of ['the first time', 'again']) await volumesOver(use.client).bringUp(fields);
    const mount = topMount(await host.mounts(), target_path);
    assert.deepEqual([mount?.type, mount?.source], ['nfs4', `${server.address}:/volumes/${volume_id}`]);
  }

  const data = randomBytes(8 * 2 ** 20);
  const [first = assert.fail(), second = assert.fail()] = uses;
  writeFileSync(join(first.fields.target_path, 'data'), data, { flush: true });
  for (const path of [second.fields.target_path, directory]) requireData(path, data);
  const usage = await volumesOver(first.client).usage(first.fields);
  assert.equal(Number(usage[0]?.total), sizeBytes);
  await requireLimited(controller, { volume_id, path: second.fields.target_path });
  await assert.rejects(controller.DeleteVolume({ volume_id }), { code: 'FAILED_PRECONDITION' });

  for (const { client, fields, detach } of uses) {
    await volumesOver(client).takeDown(fields);
    await detach();
  }
  assert.deepEqual(mountsBelow(dir), []);
  requireData(directory, data);
  await controller.DeleteVolume({ volume_id });
  assert.equal(existsSync(directory), false);
  assert.deepEqual(limitedProjects(), []);
  assert.deepEqual(readdirSync(join(root, '.trash')), []);
});

/** Fills a volume from a node: it takes no more than its size, until it is expanded, and other volumes still take data. */
async function requireLimited(
  controller: CsiClient['controller'],
  { volume_id, path }: { readonly volume_id: string; readonly path: string },
): Promise<void> {
  const fill = (bytes: number): void =>
    writeFileSync(join(path, 'more'), randomBytes(bytes), { flush: true });
  assert.throws(() => fill(sizeBytes), { code: 'ENOSPC' });
  const size = { required_bytes: sizeBytes };
  const other = await controller.CreateVolume({
    name: 'other',
    capacity_range: size,
    volume_capabilities: [volume_capability],
  });
  const otherId = other.volume?.volume_id ?? '';
  writeFileSync(join(server.root, 'volumes', otherId, 'data'), randomBytes(sizeBytes / 2), { flush: true });
  await controller.ControllerExpandVolume({ volume_id, capacity_range: { required_bytes: 2 * sizeBytes } });
  fill(sizeBytes);
  assert.throws(() => fill(2 * sizeBytes), { code: 'ENOSPC' });
  rmSync(join(path, 'more'));
  requireFewFiles(join(server.root, 'volumes', volume_id));
  await controller.DeleteVolume({ volume_id: otherId });
}

/** Fills a volume of 32 MiB with empty files, which end at one for each 4 KiB. */
function requireFewFiles(directory: string): void {
  const names = Array.from({ length: 8_300 }, (_, index) => join(directory, `empty-${index}`));
  let made = 0;
  const makeAll = (): void => {
    for (const name of names) {
      writeFileSync(name, '');
      made++;
    }
  };
  assert.throws(makeAll, { code: 'ENOSPC' });
  assert.ok(made > 8_100 && made <= 8_192, `${made} files`);
  for (const name of names.slice(0, made)) rmSync(name);
}

/** The projects of the server's filesystem that have a limit. */
function limitedProjects(): readonly string[] {
  const report = execFileSync('xfs_quota', ['-x', '-c', 'report -p -n -N', server.root], {
    encoding: 'utf8',
  });
  return report.split('\n').filter(line => /^#[1-9]/.test(line));
}

type Use = {
  readonly client: CsiClient;
  readonly fields: VolumeFields;
  readonly detach: () => Promise<unknown>;
};

function requireData(directory: string, data: Buffer): void {
  assert.ok(readFileSync(join(directory, 'data')).equals(data), directory);
}
