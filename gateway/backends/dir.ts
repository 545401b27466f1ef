import { statfs } from 'node:fs/promises';
import { posix } from 'node:path';
import * as z from 'zod';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { accessModes } from '../../src/api/storage.ts';
import { directoryFaults, requireWritableDirectory } from '../../src/lib/directories.ts';
import { lockDirectory } from '../../src/lib/linux/directory-lock.ts';
import type { Log } from '../../src/lib/log.ts';
import { createSteadyReader } from '../../src/lib/numbers.ts';
import type { AttachmentBounds, Backend, BackendPlugin, KnownVolume } from '../backend.ts';
import type { Export, ExportedVolume, ExportPlugin, ExportSettings } from '../export.ts';
import {
  exportBounds,
  exportedAttachments,
  exportSetting,
  findExportFaults,
} from '../local/exported-attachments.ts';
import { createOwnerMark, vacateTimeoutMs } from '../local/files.ts';
import { readPoolKey } from '../local/pool-key.ts';
import { absoluteDirectory, byteCount } from '../local/settings-schemas.ts';
import { findDatasets } from './dir/datasets.ts';
import { findQuota } from './dir/quota.ts';
import { openRoot, type Root } from './dir/root.ts';
import { createSnapshots } from './dir/snapshots.ts';
import { findSubvolumes } from './dir/subvolumes.ts';
import { createVolumes, parameters, requireFilesystem } from './dir/volumes.ts';

const poolDirectory = 'the directory';
const kind = 'directory';

const settingsWith = (exports: z.ZodType<ExportSettings>) =>
  z
    .strictObject({
      dir: absoluteDirectory.describe(
        'directory of the volumes; without nfs and export it must have the same path on the node',
      ),
      nfs: z
        .strictObject({
          server: z
            .union([z.ipv6(), z.hostname().regex(/[^.]$/)], 'use a host name or an IP address')
            .describe('host name or address of the NFS server of the directory'),
          path: absoluteDirectory.describe('path of the directory on the NFS server'),
        })
        .optional()
        .describe('an NFS server of the directory that others run; it cannot cut off a node'),
      export: exports
        .optional()
        .describe(
          'the export of volumes to nodes by nfs; without it and nfs they bind-mount local directories',
        ),
      capacity: byteCount
        .optional()
        .describe('maximum bytes of all volumes together; default: the size of the filesystem'),
    })
    .refine(({ nfs, export: chosen }) => !nfs || !chosen, 'has nfs and export; choose one');

type Settings = z.output<ReturnType<typeof settingsWith>>;

/**
 * Stores volumes as directories. Many nodes can write to one at once, through a bind mount on this machine or over
 * NFS.
 */
export function dir(exports: ExportPlugin): BackendPlugin<ReturnType<typeof settingsWith>> {
  return {
    settings: settingsWith(exportSetting(exports, kind)),
    addressOf: ({ dir: directory }) => directory,
    async check({ dir: root, export: chosen }) {
      const exportFaults = await findExportFaults(exports, chosen, { root, kind });
      return [...(await directoryFaults(root, poolDirectory)), ...exportFaults];
    },
    missingFeatures: findMissingFeatures,
    readOwner: ({ dir: directory }) => createOwnerMark(directory).read(),
    expectedBounds: ({ dir: directory, ...settings }) => boundsOf(directory, settings),
    async open(settings, { log }) {
      const { dir: directory, nfs, export: chosen } = settings;
      const root = await requireWritableDirectory(directory, poolDirectory);
      // Several gateways may share a directory on a server, so there is no lock, and nothing but the volumes is stored
      // there.
      const release = nfs
        ? undefined
        : await lockDirectory(root, poolDirectory, { waitMs: vacateTimeoutMs, log });
      try {
        const faults = await findExportFaults(exports, chosen, { root, kind });
        if (faults.length > 0) throw unavailableProblem(faults.join('; '));
        const poolKey = () => readPoolKey(root);
        const exported = chosen && (await exports.open(chosen, { root, kind, log, poolKey }));
        const backend = await openDirectories(root, settings, { log, exported });
        return {
          ...backend,
          async close() {
            await exported?.close?.();
            release?.();
          },
        };
      } catch (error) {
        release?.();
        throw error;
      }
    },
  };
}

const zfsAdvice =
  'the mountpoint of a filesystem of ZFS, with zfsutils-linux and a gateway that runs as root outside of a container';

/** Lists the features that a pool lacks, one line each. */
async function findMissingFeatures({ dir: directory, nfs }: Settings): Promise<readonly string[]> {
  const datasets = await findDatasets(directory);
  const quota = datasets ?? (await findQuota(directory));
  const filesystems = datasets ?? (await findSubvolumes(directory));
  return [
    ...(quota
      ? []
      : [
          `the filesystem of "${directory}" has no project quotas, so a volume can grow beyond its size; use an XFS that is mounted with "prjquota", or ${zfsAdvice}`,
        ]),
    ...(filesystems
      ? []
      : [
          `the filesystem of "${directory}" copies no directory at one instant, so volumes have no snapshots and no clones; use a btrfs, with btrfs-progs and a gateway that runs as root, or ${zfsAdvice}`,
        ]),
    ...(nfs
      ? [
          `the NFS server "${nfs.server}" is not driven by this gateway, so a detach cuts no node off; use "export" on the machine of the directory`,
        ]
      : []),
  ];
}

function boundsOf(root: string, { nfs, export: chosen }: Pick<Settings, 'nfs' | 'export'>): AttachmentBounds {
  if (nfs) return { protocols: ['nfs'], addresses: [nfs.server], roots: [nfs.path] };
  return chosen
    ? { ...exportBounds({ ...chosen, protocol: 'nfs' }), roots: [root] }
    : { protocols: ['bind'], roots: [root] };
}

type OpenParts = { readonly log: Log; readonly exported: Export | undefined };

async function openDirectories(root: string, settings: Settings, parts: OpenParts): Promise<Backend> {
  const { nfs, capacity } = settings;
  const { exported } = parts;
  const protocol = nfs || exported ? 'nfs' : 'bind';
  const datasets = await findDatasets(root);
  const volumesRoot = openRoot(root, datasets);
  const filesystems = datasets ?? (await findSubvolumes(root));
  await filesystems?.removeLeftovers();
  const copies = filesystems && createSnapshots(volumesRoot, filesystems);
  const quota = datasets ?? (await findQuota(root));
  const measure = datasets && (await createSteadyReader(datasets.measure));
  // Continues interrupted removals. A failure here is ignored: the repeated delete reports it.
  void volumesRoot.emptyTrash(() => true).catch(() => {});
  return {
    name: 'dir',
    accessModes,
    accessTypes: ['mount'],
    areShares: true,
    attachmentBounds: boundsOf(root, settings),
    listedAs: `a directory CLUSTER.NAME in "${root}"`,
    sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30 },
    parameters,
    ...createVolumes(volumesRoot, { protocol, exported, copies, filesystems, quota }),
    ...(copies && { sources: ['snapshot', 'volume'], snapshots: copies.snapshots }),
    async attach(volume, access) {
      requireFilesystem(access.capability, protocol);
      const found = await requireDirectory(volumesRoot, volume);
      if (exported) return exported.publish(found, access);
      return nfs
        ? { protocol: 'nfs', server: nfs.server, path: posix.join(nfs.path, volume.id) }
        : { protocol: 'bind', path: found.path };
    },
    ...(exported ? exportedMembers(volumesRoot, exported, parts.log) : notExported),
    capacity: async () => ({ totalBytes: capacity ?? (await (measure?.() ?? usableBytes(volumesRoot))) }),
    owner: createOwnerMark(root),
  };
}

/** This backend cannot cut a node off from the server, so it trusts the caller that the node has unmounted the volume. */
const notExported: Pick<Backend, 'detach' | 'cannotCutOff'> = { detach: async () => {}, cannotCutOff: true };

function exportedMembers(
  root: Root,
  exported: Export,
  log: Log,
): Pick<Backend, 'detach' | 'restore' | 'needsNodeDetails'> {
  return {
    needsNodeDetails: true,
    detach: async (volume, nodeId, cluster) =>
      exported.withdraw({ ...volume, path: root.pathOf(volume.id) }, nodeId, cluster),
    async restore(attached) {
      await exported.restore?.(
        exportedAttachments(attached, {
          protocol: 'nfs',
          log,
          find: volume => requireDirectory(root, volume),
        }),
      );
    },
  };
}

/** Finds the directory of a volume. FAILED_PRECONDITION when it is missing, UNAVAILABLE when it is not mounted. */
async function requireDirectory(root: Root, volume: KnownVolume): Promise<ExportedVolume> {
  await root.requireMounted(volume.id);
  const path = root.find(volume);
  if (path === undefined) throw preconditionProblem(`the directory of volume "${volume.id}" is missing`);
  return { ...volume, path };
}

/** The bytes that the root's filesystem has for its users, used and free. */
async function usableBytes({ root, requireInRoot }: Root): Promise<number> {
  requireInRoot();
  const { blocks, bfree, bavail, bsize } = await statfs(root);
  return (blocks - bfree + bavail) * bsize;
}
