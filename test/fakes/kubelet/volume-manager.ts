import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { poll } from '../../../src/lib/concurrency.ts';
import type { CsiClient } from '../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import type { Paths, VolumeKey, VolumeSpec } from './paths.ts';

/** A step of the volume manager: calls the driver's Node service, and does kubelet's own work before and after. */
export type Step = (client: CsiClient) => Promise<void>;

export type VolumeManager = ReturnType<typeof createVolumeManager>;

/**
 * Creates the steps that bring volumes to pods and take them back, in the order of kubelet's code; `root` and `paths`
 * belong together.
 */
export function createVolumeManager(root: string, paths: Paths) {
  return {
    /** Stages the volume on the node. */
    mountDevice:
      (volume: VolumeSpec): Step =>
      async client => {
        const staging = paths.staging(volume);
        mkdirSync(staging, { recursive: true, mode: 0o750 });
        writeData(paths.data(volume), volume);
        await client.node.NodeStageVolume({
          ...(await requestFor(volume, client)),
          staging_target_path: staging,
        });
      },
    /** Publishes the staged volume for a pod. */
    setUp:
      (volume: VolumeSpec, podUid: string): Step =>
      async client => {
        const target = paths.target(volume, podUid);
        mkdirSync(dirname(target), { recursive: true, mode: 0o750 });
        writeData(paths.data(volume, podUid), volume);
        await client.node.NodePublishVolume({
          ...(await requestFor(volume, client)),
          staging_target_path: paths.staging(volume),
          target_path: target,
        });
        if (volume.mode === 'Block') mapDevice(paths, volume, podUid);
      },
    /** Expands the volume on the node, at the path of one pod that uses it. */
    expandInUse:
      (volume: VolumeSpec, podUid: string, requiredBytes: number): Step =>
      async client => {
        const { volume_id, volume_capability } = await requestFor(volume, client);
        const { capacity_bytes } = await client.node.NodeExpandVolume({
          volume_id,
          volume_capability,
          volume_path: paths.target(volume, podUid),
          staging_target_path: paths.staging(volume),
          capacity_range: { required_bytes: requiredBytes },
        });
        if (Number(capacity_bytes) < requiredBytes) throw new Error(`it has ${capacity_bytes} bytes`);
      },
    /** Unpublishes the volume for a pod. */
    tearDown:
      (volume: VolumeKey, podUid: string): Step =>
      async client => {
        if (volume.mode === 'Block') await unmapDevice(paths, volume, podUid);
        const target_path = paths.target(volume, podUid);
        await client.node.NodeUnpublishVolume({ volume_id: volume.handle, target_path });
        if (volume.mode === 'Filesystem') rmSync(paths.data(volume, podUid), { force: true });
        paths.ofPod(volume, podUid).forEach(removeEmpty);
      },
    /** Unstages the volume. */
    unmountDevice:
      (volume: VolumeKey): Step =>
      async client => {
        const staging_target_path = paths.staging(volume);
        await client.node.NodeUnstageVolume({ volume_id: volume.handle, staging_target_path });
        rmSync(paths.data(volume), { force: true });
        paths.ofDevice(volume).forEach(removeEmpty);
      },
    /** Finds the volumes that pods use from the directories alone, as after a restart of kubelet. */
    reconstruct: () => [...reconstructFilesystems(root, paths), ...reconstructDevices(root, paths)],
  };
}

async function requestFor(volume: VolumeSpec, client: CsiClient) {
  const { handle, mode, fsType: fs_type = 'ext4', publishContext, volumeContext = {} } = volume;
  const { capabilities } = await client.node.NodeGetCapabilities({});
  const offers = new Set(capabilities.map(({ rpc }) => rpc?.type));
  const isMany = offers.has('SINGLE_NODE_MULTI_WRITER');
  const access_mode = { mode: isMany ? 'SINGLE_NODE_MULTI_WRITER' : 'SINGLE_NODE_WRITER' } as const;
  const volume_capability: VolumeCapability =
    mode === 'Block' ? { block: {}, access_mode } : { mount: { fs_type }, access_mode };
  return {
    volume_id: handle,
    volume_capability,
    publish_context: publishContext,
    volume_context: volumeContext,
  };
}

function writeData(path: string, { name, handle, driver }: VolumeKey): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o750 });
  const data: VolumeData = { specVolID: name, volumeHandle: handle, driverName: driver };
  writeFileSync(path, JSON.stringify(data));
}

type VolumeData = {
  readonly specVolID: string;
  readonly volumeHandle: string;
  readonly driverName: string;
};

function readData(path: string, mode: VolumeSpec['mode']): VolumeKey {
  const data = JSON.parse(readFileSync(path, 'utf8')) as VolumeData;
  const { specVolID: name, volumeHandle: handle, driverName: driver } = data;
  return { name, handle, driver, mode };
}

/** Binds the published device once more, holds it with a loop device, and links it for the pod. */
function mapDevice(paths: Paths, volume: VolumeKey, podUid: string): void {
  const map = paths.deviceMap(volume, podUid);
  const link = paths.deviceLink(volume, podUid);
  const target = paths.target(volume, podUid);
  if (existsSync(map) && holdersOf(map).length > 0) return;
  mkdirSync(dirname(map), { recursive: true });
  mkdirSync(dirname(link), { recursive: true });
  if (!isMounted(map)) {
    writeFileSync(map, '');
    execFileSync('mount', ['--bind', '--', target, map]);
  }
  execFileSync('losetup', ['--find', '--', map]);
  rmSync(link, { force: true });
  symlinkSync(target, link);
}

async function unmapDevice(paths: Paths, volume: VolumeKey, podUid: string): Promise<void> {
  const map = paths.deviceMap(volume, podUid);
  if (existsSync(map)) {
    for (const loop of holdersOf(map)) spawnSync('losetup', ['--detach', loop]);
    // A loop device that another process has open detaches with that process, and holds the mount until then.
    await poll(() => holdersOf(map).length === 0 || undefined, { everyMs: 10, timeoutMs: 10_000 });
  }
  rmSync(paths.deviceLink(volume, podUid), { force: true });
  if (isMounted(map)) execFileSync('umount', ['--', map]);
  rmSync(map, { force: true });
}

function holdersOf(map: string): readonly string[] {
  const lines = execFileSync('losetup', ['--associated', map], { encoding: 'utf8' }).split('\n');
  return lines.flatMap(line => /^\/dev\/loop\d+/.exec(line) ?? []);
}

function isMounted(path: string): boolean {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .some(line => line.split(' ')[4] === path);
}

/** Removes an empty directory; one that others still use stays. */
function removeEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY') throw error;
  }
}

function reconstructFilesystems(root: string, paths: Paths) {
  return namesIn(join(root, 'pods')).flatMap(podUid => {
    const dir = join(root, 'pods', podUid, 'volumes/kubernetes.io~csi');
    return namesIn(dir).flatMap(name => {
      const data = paths.data({ name, handle: '', driver: '', mode: 'Filesystem' }, podUid);
      return existsSync(data) ? [{ podUid, volume: readData(data, 'Filesystem') }] : [];
    });
  });
}

function reconstructDevices(root: string, paths: Paths) {
  return namesIn(join(root, 'pods')).flatMap(podUid => {
    const dir = join(root, 'pods', podUid, 'volumeDevices/kubernetes.io~csi');
    return namesIn(dir).map(name => {
      const data = paths.data({ name, handle: '', driver: '', mode: 'Block' });
      return { podUid, volume: readData(data, 'Block') };
    });
  });
}

function namesIn(dir: string): readonly string[] {
  return existsSync(dir) ? readdirSync(dir) : [];
}
