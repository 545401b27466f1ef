import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KnownVolume, NodeAccess } from '../../../gateway/backend.ts';
import { image } from '../../../gateway/backends/image.ts';
import type { Attachment, Reach } from '../../../src/api/attachment.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { makeVolume, type Offered } from '../../suites/backend-fixtures.ts';
import { config, loadTarget } from './configfs.ts';
import { undoLast, type Ending } from './undo.ts';

/** A pool of images with an export. */
export type ExportedPool = Awaited<ReturnType<typeof openExportedPool>>;

/** The settings of each export of the kernel's, on this machine alone. */
export const kernelExports = {
  'nvme-tcp': {
    protocol: 'nvme-tcp' as const,
    addresses: ['127.0.0.1:4420'],
    authentication: 'none' as const,
  },
  iscsi: { protocol: 'iscsi' as const, addresses: ['127.0.0.1:3260'] },
};

/** The protocol of one of them. */
export type KernelExport = keyof typeof kernelExports;

/** A directory on an xfs of its own, which shares blocks; it ends with the test. */
export function makePoolDirectory(t: Ending, sizeMiB = 1_024): string {
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

/** Opens a pool on this machine; it ends with the test. */
export async function openExportedPool(t: Ending, protocol: KernelExport, root = makePoolDirectory(t)) {
  loadTarget();
  return openPoolWith(t, kernelExports[protocol], root);
}

/** Opens a pool in a directory with the settings of an export; it ends with the test. */
export async function openPoolWith(t: Ending, exported: object, root: string) {
  const settings = image.settings.parse({ dir: root, capacity: '100Gi', export: exported });
  const open = async (): Promise<Offered['backend']> =>
    (await image.open(settings, { name: 'pool', log: silentLog })) as Offered['backend'];
  let backend = await open();
  undoLast(t, () => backend.close?.());
  return {
    root,
    get backend() {
      return backend;
    },
    /** As a gateway does that is started again. */
    async reopen(): Promise<void> {
      await backend.close?.();
      backend = await open();
    },
    makeVolume: (id: string, sizeMiB: number): Promise<KnownVolume> =>
      makeVolume(backend, { id, requiredBytes: sizeMiB * 2 ** 20 }),
    /** Attaches a volume, and says how the node is told of it. */
    async attach(volume: KnownVolume, access: NodeAccess) {
      return toAttachment(await backend.attach(volume, access), volume, access);
    },
    /** What the volume's file holds. */
    hashOf: (id: string): string => hashFile(join(root, `${id}.img`)),
  };
}

/** As the gateway does, but that nothing is sealed. */
function toAttachment({ secrets, ...reach }: Reach, { sizeBytes }: KnownVolume, access: NodeAccess) {
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

/** A node's access to a volume under a new attachment. */
export function accessOf(nodeId: string, accessType: 'mount' | 'block' = 'mount'): NodeAccess {
  const capability = { accessType, accessMode: 'SINGLE_NODE_WRITER' } as const;
  return { nodeId, cluster: 'c', attachmentId: crypto.randomUUID(), capability, readonly: false };
}

/** All that exports made and that is still there. */
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

/** The nbd-servers of a pool that run, with their connections, and what is recorded of them. */
export function serversLeft(root: string): readonly string[] {
  const directory = join(root, '.nbd');
  if (!existsSync(directory)) return [];
  const running = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && existsSync(`/proc/${name}/cmdline`))
    .filter(name => readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(directory));
  return [...running, ...readdirSync(directory)];
}

/** What a file holds, as it is read through the cache. */
export function hashFile(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** The middle of some numbers. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
