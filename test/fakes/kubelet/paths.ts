import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** A persistent volume as a pod uses it. `name` is the volume's in Kubernetes, `handle` its id at the driver. */
export type VolumeSpec = {
  readonly name: string;
  readonly handle: string;
  readonly driver: string;
  readonly mode: 'Filesystem' | 'Block';
  readonly fsType?: string;
  readonly publishContext: Readonly<Record<string, string>>;
  /** What the driver said when it made the volume. */
  readonly volumeContext?: Readonly<Record<string, string>>;
};

/** A pod and its volumes. */
export type Pod = { readonly uid: string; readonly volumes: readonly VolumeSpec[] };

/** Which volume; all that the paths are made of. */
export type VolumeKey = Pick<VolumeSpec, 'name' | 'handle' | 'driver' | 'mode'>;

/** The directories below kubelet's root, as its CSI plug-in lays them out. */
export type Paths = ReturnType<typeof pathsBelow>;

/** Paths below one root, such as /var/lib/kubelet. */
export function pathsBelow(root: string) {
  const csi = join(root, 'plugins/kubernetes.io/csi');
  const devices = join(csi, 'volumeDevices');
  const ofHandle = ({ driver, handle }: VolumeKey): string =>
    join(csi, driver, createHash('sha256').update(handle).digest('hex'));
  const podVolume = ({ name }: VolumeKey, uid: string): string =>
    join(root, 'pods', uid, 'volumes/kubernetes.io~csi', name);
  return {
    /** Where drivers make their registration sockets. */
    registry: join(root, 'plugins_registry'),
    /** Where a volume is staged on the node, once for all of its pods. */
    staging: (volume: VolumeKey): string =>
      isBlock(volume) ? join(devices, 'staging', volume.name) : join(ofHandle(volume), 'globalmount'),
    /** Where a volume is published for one pod. */
    target: (volume: VolumeKey, uid: string): string =>
      isBlock(volume) ? join(devices, 'publish', volume.name, uid) : join(podVolume(volume, uid), 'mount'),
    /** Where kubelet notes which volume it is, for the device (without a pod) and for the pod. */
    data(volume: VolumeKey, uid?: string): string {
      if (isBlock(volume)) return join(devices, volume.name, 'data/vol_data.json');
      return join(uid === undefined ? ofHandle(volume) : podVolume(volume, uid), 'vol_data.json');
    },
    /** Where a raw block volume is bound once more for one pod. */
    deviceMap: ({ name }: VolumeKey, uid: string): string => join(devices, name, 'dev', uid),
    /** Where a pod's raw block volume is found: a link to its target. */
    deviceLink: ({ name }: VolumeKey, uid: string): string =>
      join(root, 'pods', uid, 'volumeDevices/kubernetes.io~csi', name),
    /** The directories that are removed, innermost first, once no pod uses the volume. */
    ofDevice(volume: VolumeKey): readonly string[] {
      const { name } = volume;
      if (!isBlock(volume)) return [join(ofHandle(volume), 'globalmount'), ofHandle(volume)];
      const own = ['data', 'dev', ''].map(part => join(devices, name, part));
      return [join(devices, 'staging', name), join(devices, 'publish', name), ...own];
    },
    /** The directories that are removed, innermost first, once this pod does not use the volume. */
    ofPod(volume: VolumeKey, uid: string): readonly string[] {
      const pod = join(root, 'pods', uid);
      if (isBlock(volume)) return [join(pod, 'volumeDevices/kubernetes.io~csi')];
      return [join(podVolume(volume, uid), 'mount'), podVolume(volume, uid)];
    },
  };
}

function isBlock({ mode }: VolumeKey): boolean {
  return mode === 'Block';
}
