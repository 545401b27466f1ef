import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import { readGuide } from '../../../docs/guides/guide.ts';
import { startBridged } from '../../fakes/storages/bridged.ts';
import { clientOf } from '../../harness/csi-serving.ts';
import { directoryOf, loopDevicesOf, mountsBelow, noRoot } from '../../harness/machine.ts';
import { cli } from '../../harness/program.ts';

const guide = join(import.meta.dirname, '../../../docs/guides/existing-storage.md');
const volume_capability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
} as const;
const text = 'written through the driver alone';

type Sockets = Readonly<Record<'controller' | 'node' | 'nodeId', string>>;
type Volume = { readonly volume_id: string; readonly volume_context: Record<string, string> };

/** A volume, a directory for its mounts, and the work with a file in it. */
type Use = { readonly volume: Volume; readonly dir: string; readonly work: (file: string) => void };

test(
  'a volume that the driver made moves to Fairlead by its manifest, with its data, and is deleted there',
  { skip: noRoot },
  async t => {
    const dir = directoryOf(t);
    const chain = await startBridged(t, dir);
    const { driver } = chain;
    const controller = clientOf(t, driver.controller).controller;
    const { volume } = await controller.CreateVolume({
      name: 'pvc-old',
      capacity_range: { required_bytes: 2 ** 26 },
      volume_capabilities: [volume_capability],
    });
    assert.ok(volume);
    await useAt(t, driver, { volume, dir, work: file => writeFileSync(file, text) });

    writeFileSync(join(dir, 'old.yaml'), stringify(toPersistentVolume(volume)));
    const step = readGuide(guide, { 'east.': 'dev.' }).find(({ machine }) => machine === 'operator');
    const fairlead = `fairlead() { '${process.execPath}' '${cli}' "$@"; }\n`;
    const env = {
      ...process.env,
      FAIRLEAD_GATEWAY: chain.gateway,
      FAIRLEAD_KEY_FILE: join(dir, 'own/operator.jwk.json'),
    };
    const run = (line: string) =>
      spawnSync('bash', ['-euc', fairlead + line], { cwd: dir, env, encoding: 'utf8' });
    // A repetition finds the volume, and no other id gets it.
    for (const _ of ['once', 'again']) {
      const { status, stderr } = run(step?.text ?? '');
      assert.equal(status, 0, stderr);
    }
    const other = run('fairlead admin import dev.other --pool old --manifest old.yaml');
    assert.match(other.stderr, /is already volume ".*dev\.data/);
    const wrong = stringify(toPersistentVolume({ ...volume, volume_id: 'dev.pvc-none' }));
    writeFileSync(join(dir, 'wrong.yaml'), wrong);
    const missing = run('fairlead admin import dev.wrong --pool old --manifest wrong.yaml');
    assert.match(missing.stderr, /has no volume "dev\.pvc-none"/);

    const [found] = parseAllDocuments(readFileSync(join(dir, 'new.yaml'), 'utf8')).map(one =>
      one.toJS(),
    ) as readonly { readonly spec: { readonly csi: { readonly volumeHandle: string } } }[];
    assert.partialDeepStrictEqual(found, {
      kind: 'PersistentVolume',
      spec: {
        capacity: { storage: String(2 ** 26) },
        accessModes: ['ReadWriteOnce'],
        csi: { volumeHandle: 'dev.data', fsType: 'ext4' },
      },
    });
    const taken = { volume_id: found?.spec.csi.volumeHandle ?? '', volume_context: {} };
    await useAt(t, chain, { volume: taken, dir, work: assertText });
    assert.equal((await controller.ListVolumes({})).entries.length, 1);
    await clientOf(t, chain.controller).controller.DeleteVolume({ volume_id: 'dev.data' });
    assert.deepEqual((await controller.ListVolumes({})).entries, []);
    assert.deepEqual([mountsBelow(dir), loopDevicesOf(dir)], [[], []]);
  },
);

const assertText = (file: string): void => assert.equal(readFileSync(file, 'utf8'), text);

/** Makes the PersistentVolume that external-provisioner makes for a volume, as far as kubectl prints it. */
function toPersistentVolume({ volume_id: volumeHandle, volume_context: volumeAttributes }: Volume): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pvc-old', finalizers: ['kubernetes.io/pv-protection'] },
    spec: {
      capacity: { storage: '64Mi' },
      accessModes: ['ReadWriteOnce'],
      volumeMode: 'Filesystem',
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: 'driver',
      csi: { driver: 'csi.fairlead.dev', volumeHandle, volumeAttributes, fsType: 'ext4' },
    },
    status: { phase: 'Released' },
  };
}

/** Publishes a volume at the node of these sockets, works with a file in it, and takes it away again. */
async function useAt(t: TestContext, sockets: Sockets, { volume, dir, work }: Use): Promise<void> {
  const { controller } = clientOf(t, sockets.controller);
  const { node } = clientOf(t, sockets.node);
  const { volume_id, volume_context } = volume;
  const asked = { volume_id, volume_context, volume_capability };
  const [staging_target_path, target_path] = [join(dir, 'staging'), join(dir, 'target')];
  mkdirSync(staging_target_path);
  const { publish_context } = await controller.ControllerPublishVolume({ ...asked, node_id: sockets.nodeId });
  const staged = { ...asked, publish_context, staging_target_path };
  await node.NodeStageVolume(staged);
  await node.NodePublishVolume({ ...staged, target_path });
  work(join(target_path, 'file'));
  execFileSync('sync', ['-f', target_path]);
  await node.NodeUnpublishVolume({ volume_id, target_path });
  await node.NodeUnstageVolume({ volume_id, staging_target_path });
  rmdirSync(staging_target_path);
  await controller.ControllerUnpublishVolume({ volume_id, node_id: sockets.nodeId });
}
