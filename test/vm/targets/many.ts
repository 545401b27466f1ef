import { recorded } from '../../suites/exports/recorded.ts';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExportedAttachment, VolumeKind } from '../../../gateway/export.ts';
import { exportIscsi } from '../../../gateway/exports/iscsi.ts';
import { openConfigTree, type ConfigTree } from '../../../gateway/local/kernel/configfs.ts';
import { createNames } from '../../../gateway/local/targets/names.ts';
import { exportNvme } from '../../../gateway/exports/nvme-tcp.ts';
import { silentLog } from '../../../src/lib/log.ts';
import type { Live } from '../../suites/exports/ended.ts';
import { accessOf, deviceMaker, kernelExports, makePoolDirectory, type KernelExport } from './exported.ts';
import { undoLast, type CleanupScope } from './undo.ts';

type ExportOptions = {
  readonly count?: number;
  readonly tree?: ConfigTree;
  /** The function that makes a volume's file or device, and returns its path. */
  readonly makePath?: (name: string) => string;
};

/**
 * Opens an export over the caller's tree, another for the next gateway over the kernel's own tree, and volumes of 1
 * MiB, each for its own node.
 */
export function openMany(
  t: CleanupScope,
  protocol: KernelExport,
  { count = 1, tree = openConfigTree(), makePath = pathMaker(t, 'file') }: ExportOptions = {},
) {
  const attached = Array.from({ length: count }, (_, index): ExportedAttachment => {
    const volume = { id: `c.${index}`, nonce: 'own', path: makePath(`c.${index}`), sizeBytes };
    return { volume, access: accessOf(`n${index}`) };
  });
  const parts = { names: createNames(Buffer.from(poolKey)), log: silentLog, load: async () => {} };
  const openOver = (one: ConfigTree) =>
    (protocol === 'iscsi'
      ? exportIscsi(kernelExports.iscsi, { ...parts, tree: one })
      : exportNvme(kernelExports['nvme-tcp'], { ...parts, tree: one })) as Live;
  const next = () => openOver(openConfigTree());
  undoLast(t, () => next().restore(recorded([])));
  return { exported: openOver(tree), next, attached };
}

/** The secret of the pool. */
export const poolKey = 'many';
const sizeBytes = 2 ** 20;

/** Makes a place for volumes, and the function that makes their files or devices there. */
export function pathMaker(t: CleanupScope, kind: VolumeKind): (name: string) => string {
  if (kind === 'device') return deviceMaker(t);
  const root = makePoolDirectory(t, 320);
  return name => {
    const path = join(root, `${name}.img`);
    writeFileSync(path, '');
    truncateSync(path, sizeBytes);
    return path;
  };
}

/** Wraps a tree so that `make` makes each of its changes. */
export function changing(tree: ConfigTree, make: (change: () => unknown) => unknown): ConfigTree {
  const guarded = [
    'write',
    'writeSecret',
    'create',
    'createApart',
    'link',
    'writeSlowly',
    'unlink',
    'remove',
  ] as const;
  const entries = guarded.map(name => [
    name,
    (...args: readonly [string, string]) => make(() => tree[name](...args)),
  ]);
  return { ...tree, ...(Object.fromEntries(entries) as Pick<ConfigTree, (typeof guarded)[number]>) };
}
