import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';
import { describeIssues } from '../../../api/schemas/issues.ts';
import type { AccessMode } from '../../../api/storage.ts';
import { bytes } from '../../../lib/parsers.ts';

const csiModes = {
  ReadWriteOnce: 'SINGLE_NODE_WRITER',
  ReadWriteOncePod: 'SINGLE_NODE_SINGLE_WRITER',
  ReadOnlyMany: 'MULTI_NODE_READER_ONLY',
  ReadWriteMany: 'MULTI_NODE_MULTI_WRITER',
} as const satisfies Record<string, AccessMode>;

const expression = z.object({
  key: z.string(),
  operator: z.literal('In'),
  values: z.tuple([z.string()]),
});

/** The parts of a PersistentVolume of a CSI driver that describe its volume. */
const persistentVolume = z.object({
  kind: z.literal('PersistentVolume'),
  spec: z.object({
    capacity: z.object({ storage: z.coerce.string() }),
    accessModes: z.array(z.enum(Object.keys(csiModes) as (keyof typeof csiModes)[])).min(1),
    volumeMode: z.enum(['Filesystem', 'Block']).default('Filesystem'),
    mountOptions: z.array(z.string()).optional(),
    csi: z.object({
      driver: z.string(),
      volumeHandle: z.string(),
      volumeAttributes: z.record(z.string(), z.string()).default({}),
      fsType: z.string().optional(),
    }),
    nodeAffinity: z
      .object({
        required: z.object({
          nodeSelectorTerms: z.tuple([z.object({ matchExpressions: z.array(expression) })]),
        }),
      })
      .optional(),
  }),
});

/** Reads the PersistentVolume of a volume that a CSI driver made. Throws one line that names the file and its fault. */
export function readPersistentVolume(path: string) {
  const read = persistentVolume.safeParse(parse(readFileSync(path, 'utf8')));
  if (!read.success)
    throw new Error(
      `"${path}" is not the PersistentVolume of a CSI driver: ${describeIssues(read.error, at => at.join('.')).join('; ')}`,
    );
  const { capacity, accessModes, volumeMode, mountOptions, csi, nodeAffinity } = read.data.spec;
  const { driver, volumeHandle: handle, volumeAttributes: context, fsType } = csi;
  const filesystem = { ...(fsType && { fsType }), ...(mountOptions && { mountFlags: mountOptions }) };
  const use =
    volumeMode === 'Block'
      ? { accessType: 'block' as const }
      : { accessType: 'mount' as const, ...filesystem };
  const terms = nodeAffinity?.required.nodeSelectorTerms[0].matchExpressions;
  return {
    existing: { driver, handle, context },
    sizeBytes: bytes(capacity.storage),
    capabilities: accessModes.map(mode => Object.assign({ accessMode: csiModes[mode] }, use)),
    ...(terms && { topology: Object.fromEntries(terms.map(({ key, values: [value] }) => [key, value])) }),
  };
}
