import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BackendPlugin, KnownVolume, NodeAccess } from '../../../gateway/backend.ts';
import { backends } from '../../../gateway/backends/index.ts';
import type { Attachment, Reach } from '../../../src/api/attachment.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { makeVolume, type OfferedBackend } from '../../suites/backend-fixtures.ts';
import { config, loadTarget } from './configfs.ts';
import { loadZfs, makeDataset, makeZvol, type DatasetName } from './dataset.ts';
import { hashOfDevice, makeThinPool, makeThinVolume, type ThinPoolName } from './thin-pool.ts';
import { undoLast, type CleanupScope } from './undo.ts';
import { hashOf } from '../../harness/values.ts';
import type { VolumeKind } from '../../../gateway/export.ts';

/** The settings of each kernel export, for use on this machine only. */
export const kernelExports = {
  'nvme-tcp': {
    protocol: 'nvme-tcp' as const,
    addresses: ['127.0.0.1:4420'],
    authentication: 'none' as const,
  },
  iscsi: { protocol: 'iscsi' as const, addresses: ['127.0.0.1:3260'] },
};

export type KernelExport = keyof typeof kernelExports;

/** Makes a directory on a separate xfs with reflinks; it is removed when the test ends. */
export function makePoolDirectory(t: CleanupScope, sizeMiB = 1_024): string {
  const directory = mkdtempSync(join(tmpdir(), 'pool-'));
  const [disk, root] = [join(directory, 'disk'), join(directory, 'root')];
  writeFileSync(disk, '');
  truncateSync(disk, sizeMiB * 2 ** 20);
  execFileSync('mkfs.xfs', ['-q', disk]);
  mkdirSync(root);
  execFileSync('modprobe', ['xfs']);
  execFileSync('mount', ['-o', 'loop', '--', disk, root]);
  undoLast(t, () => {
    execFileSync('umount', ['--', root]);
    execFileSync('rm', ['-r', '--', directory]);
  });
  return root;
}

/** The place of a pool's volumes: a directory for images, a thin pool, or a dataset of ZFS. */
export type PoolPlace = string | ThinPoolName | DatasetName;

/** True in a machine whose devices are zvols; in others they are thin volumes. */
export const hasZfs: boolean = process.env['DEVICES'] === 'zfs';

/** Makes a place for volumes. */
export function makePlace(t: CleanupScope, kind: VolumeKind): PoolPlace {
  return kind === 'file' ? makePoolDirectory(t) : makeDevices(t);
}

/** Makes a place for volumes that are devices. */
export function makeDevices(t: CleanupScope, sizeMiB?: number): ThinPoolName | DatasetName {
  const size = sizeMiB === undefined ? {} : { sizeMiB };
  if (!hasZfs) return makeThinPool(t, size);
  loadZfs();
  return makeDataset(t, size);
}

/** Makes a place for devices, and the function that makes a device of a mebibyte there. */
export function deviceMaker(t: CleanupScope): (name: string) => string {
  const place = makeDevices(t);
  return name => ('dataset' in place ? makeZvol(place, name) : makeThinVolume(place, name));
}

/** The backend of a place, the settings that name the place, and the paths of its volumes. */
function backendAt(place: PoolPlace) {
  const { image, lvm, zfs } = backends;
  if (typeof place === 'string')
    return { plugin: image, own: { dir: place }, pathOf: (id: string) => join(place, `${id}.img`) };
  const root = 'dataset' in place ? `zvol/${place.dataset}` : place.group;
  const plugin = 'dataset' in place ? zfs : lvm;
  return { plugin, own: place, pathOf: (id: string) => `/dev/${root}/fairlead.volume.${id}` };
}

/** Opens a pool on this machine; it ends with the test. */
export async function openExportedPool(
  t: CleanupScope,
  protocol: KernelExport,
  place: PoolPlace = makePoolDirectory(t),
) {
  loadTarget();
  return openPoolWith(t, kernelExports[protocol], place);
}

/** Opens a pool with the settings of an export; it ends with the test. */
export async function openPoolWith(t: CleanupScope, exported: object, place: PoolPlace) {
  const isDirectory = typeof place === 'string';
  const { own, pathOf, ...chosen } = backendAt(place);
  const plugin = chosen.plugin as BackendPlugin;
  const settings = plugin.settings.parse({ ...own, capacity: '100Gi', export: exported });
  const open = async (): Promise<OfferedBackend['backend']> =>
    (await plugin.open(settings, { name: 'pool', log: silentLog })) as OfferedBackend['backend'];
  let backend = await open();
  undoLast(t, () => backend.close?.());
  return {
    pathOf,
    get backend() {
      return backend;
    },
    /** Reopens the backend, as a gateway does at its start. */
    async reopen(): Promise<void> {
      await backend.close?.();
      backend = await open();
    },
    makeVolume: (id: string, sizeMiB: number): Promise<KnownVolume> =>
      makeVolume(backend, { id, requiredBytes: sizeMiB * 2 ** 20 }),
    /** Attaches a volume and returns the attachment as its node receives it. */
    async attach(volume: KnownVolume, access: NodeAccess) {
      return toAttachment(await backend.attach(volume, access), volume, access);
    },
    /** Returns the hash of the volume's file or device. */
    hashOf: (id: string): string => (isDirectory ? hashOf : hashOfDevice)(pathOf(id)),
  };
}

/** Makes an attachment as the gateway does, but without sealing. */
export function toAttachment({ secrets, ...found }: Reach, { sizeBytes }: KnownVolume, access: NodeAccess) {
  const { limitsIo: _, ...reach } = found;
  const { attachmentId, readonly } = access;
  const attachment: Attachment = {
    ...reach,
    attachmentId,
    sizeBytes,
    readonly,
    mayFormat: reach.mayFormat ?? true,
  };
  return { attachment, secrets: secrets ?? {} };
}

/** Makes a node's access to a volume under a new attachment. */
export function accessOf(nodeId: string, accessType: 'mount' | 'block' = 'mount'): NodeAccess {
  const capability = { accessType, accessMode: 'SINGLE_NODE_WRITER' } as const;
  return { nodeId, cluster: 'c', attachmentId: crypto.randomUUID(), capability, readonly: false };
}

/** Runs work during which no command can be found. */
export async function withoutCommands(work: () => Promise<unknown>): Promise<void> {
  const { PATH } = process.env;
  process.env['PATH'] = '/none';
  try {
    await work();
  } finally {
    process.env['PATH'] = PATH;
  }
}

/** Lists the remaining kernel objects of exports. */
export function targetsLeft(): readonly string[] {
  const names = ['nvmet/subsystems', 'nvmet/hosts', 'target/iscsi']
    .map(kind => `${config}/${kind}`)
    .filter(path => existsSync(path))
    .flatMap(path => readdirSync(path).filter(name => name.includes('dev.fairlead')));
  const core = `${config}/target/core`;
  const shelves = existsSync(core) ? readdirSync(core).filter(name => name.startsWith('fileio_')) : [];
  const stores = shelves.flatMap(shelf =>
    readdirSync(`${core}/${shelf}`).filter(name => !name.startsWith('hba_')),
  );
  return [...names, ...stores];
}
