import type { AttachmentOf } from '../../../../src/api/attachment.ts';
import { openIscsiWorld, openNvmeWorld, openRbdWorld } from '../../../fakes/disks.ts';
import { showDisk } from '../../../fakes/show-disk.ts';
import { mountFake, type SysfsHost } from '../../../fakes/sysfs.ts';

export const MiB = 2 ** 20;

/** The common fields of an attachment that may be written and formatted. */
export const common = { attachmentId: 'a', sizeBytes: MiB, readonly: false, mayFormat: true };

export const target = 'iqn.2003-01.org.example:t';
export const portals = ['192.0.2.7:3260', '[2001:db8::7]:3260'] as const;
export const records = `/etc/iscsi/nodes/${target}`;

/** Opens a fake machine with an iSCSI target, and a function that makes volumes on it. */
export function openIscsi(addresses: readonly string[] = portals) {
  const world = openIscsiWorld(target);
  const { host, volumes } = world;
  return {
    ...world,
    use: usesOf(host),
    attach(_: string, sizeBytes = MiB): AttachmentOf<'iscsi'> {
      const lun = volumes.size;
      const name = `a${lun}`;
      volumes.set(String(lun), { name, sizeBytes });
      const wwid = `naa.6001405${name}`;
      return { protocol: 'iscsi', portals: addresses, target, lun, wwid, ...common, sizeBytes };
    },
    resize({ lun }: AttachmentOf<'iscsi'>, sizeBytes: number): void {
      volumes.set(String(lun), { name: `a${lun}`, sizeBytes });
    },
    connections: () => host.names('/sys/class/iscsi_session'),
    left: () => ['/sys/class/iscsi_session', '/sys/block', records].flatMap(host.names),
  };
}

export const subsystem = 'nqn.2014-08.org.example:s';
export const addresses = ['192.0.2.7:4420', '[2001:db8::7]:4421'] as const;

/** Opens a fake machine with an NVMe subsystem, and a function that makes volumes on it. */
export function openNvme() {
  const world = openNvmeWorld(subsystem);
  const { host, volumes } = world;
  const connections = () => host.names('/sys/class/nvme');
  return {
    ...world,
    use: usesOf(host),
    attach(_: string, sizeBytes = MiB): AttachmentOf<'nvme-tcp'> {
      const number = volumes.size + 1;
      const wwid = `uuid.00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
      volumes.set(wwid, { name: `nvme0n${number}`, sizeBytes });
      return { protocol: 'nvme-tcp', addresses, subsystem, wwid, ...common, sizeBytes };
    },
    resize({ wwid }: AttachmentOf<'nvme-tcp'>, sizeBytes: number): void {
      const volume = volumes.get(wwid);
      if (volume) volume.sizeBytes = sizeBytes;
    },
    connections,
    left: connections,
  };
}

export const fsid = '11111111-2222-3333-4444-555555555555';

/** Opens a fake machine with a Ceph cluster, and a function that makes images in it. */
export function openRbd() {
  const world = openRbdWorld(fsid);
  const { host, volumes } = world;
  const resize = ({ imageId }: AttachmentOf<'rbd'>, sizeBytes: number): void =>
    void volumes.set(imageId, { name: imageId, sizeBytes });
  return {
    ...world,
    use: usesOf(host),
    resize,
    attach(name: string, sizeBytes = MiB): AttachmentOf<'rbd'> {
      const where = { fsid, pool: 'rbd', namespace: 'fairlead.c', image: name, imageId: `id-${name}` };
      const monitors = ['192.0.2.7:6789', '[2001:db8::7]:6789'];
      const attachment = { monitors, mode: 'legacy', ...where, user: 'fairlead.1', ...common, sizeBytes };
      resize({ protocol: 'rbd', ...attachment }, sizeBytes);
      return { protocol: 'rbd', ...attachment };
    },
    left: () => host.names('/sys/block'),
  };
}

/** Shows a disk of 1 MiB with its identifiers. */
export function show(host: SysfsHost, name: string, facts: Readonly<Record<string, string>>): void {
  showDisk(host, { name, sizeBytes: MiB }, facts);
}

function usesOf(host: SysfsHost) {
  return async (path: string) => {
    const release = mountFake(host, path);
    return async () => release();
  };
}
