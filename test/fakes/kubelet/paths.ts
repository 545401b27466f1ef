import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** A persistent volume as a pod uses it. `name` is its name in Kubernetes, `handle` its id at the driver. */
export type VolumeSpec = {
  readonly name: string;
  readonly handle: string;
  readonly driver: string;
  readonly mode: 'Filesystem' | 'Block';
  readonly fsType?: string;
  readonly publishContext: Readonly<Record<string, string>>;
  /** The volume context that the driver returned at creation. */
  readonly volumeContext?: Readonly<Record<string, string>>;
};

export type Pod = { readonly uid: string; readonly volumes: readonly VolumeSpec[] };

/** The members of a volume that its paths are made of. */
export type VolumeKey = Pick<VolumeSpec, 'name' | 'handle' | 'driver' | 'mode'>;

/** The directories below kubelet's root, in the layout of kubelet's CSI plug-in. */
export type Paths = ReturnType<typeof pathsBelow>;

/** Makes the paths below one root, such as /var/lib/kubelet. */
export function pathsBelow(root: string) {
  const csi = join(root, 'plugins/kubernetes.io/csi');
  const devices = join(csi, 'volumeDevices');
  const ofHandle = ({ driver, handle }: VolumeKey): string =>
    join(csi, driver, createHash('sha256').update(handle).digest('hex'));
  const podVolume = ({ name }: VolumeKey, uid: string): string =>
    join(root, 'pods', uid, 'volumes/kubernetes.io~csi', name);
  return {
    /** The directory where drivers make their registration sockets. */
    registry: join(root, 'plugins_registry'),
    /** The path where a volume is staged on the node, once for all of its pods. */
    staging: (volume: VolumeKey): string =>
      isBlock(volume) ? join(devices, 'staging', volume.name) : join(ofHandle(volume), 'globalmount'),
    /** The path where a volume is published for one pod. */
    target: (volume: VolumeKey, uid: string): string =>
      isBlock(volume) ? join(devices, 'publish', volume.name, uid) : join(podVolume(volume, uid), 'mount'),
    /** The file where kubelet identifies the volume, for the device (without a pod) or for the pod. */
    data(volume: VolumeKey, uid?: string): string {
      if (isBlock(volume)) return join(devices, volume.name, 'data/vol_data.json');
      return join(uid === undefined ? ofHandle(volume) : podVolume(volume, uid), 'vol_data.json');
    },
    /** The path where a raw block volume is bound once more for one pod. */
    deviceMap: ({ name }: VolumeKey, uid: string): string => join(devices, name, 'dev', uid),
    /** The link in a pod's directory to its raw block volume's target. */
    deviceLink: ({ name }: VolumeKey, uid: string): string =>
      join(root, 'pods', uid, 'volumeDevices/kubernetes.io~csi', name),
    /** The directories to remove, innermost first, once no pod uses the volume. */
    ofDevice(volume: VolumeKey): readonly string[] {
      const { name } = volume;
      if (!isBlock(volume)) return [join(ofHandle(volume), 'globalmount'), ofHandle(volume)];
      const own = ['data', 'dev', ''].map(part => join(devices, name, part));
      return [join(devices, 'staging', name), join(devices, 'publish', name), ...own];
    },
    /** The directories to remove, innermost first, once this pod does not use the volume. */
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
