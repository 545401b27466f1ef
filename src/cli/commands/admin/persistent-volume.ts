import { readFileSync } from 'node:fs';
import { parse, YAMLParseError } from 'yaml';
import * as z from 'zod';
import { describeIssues } from '../../../api/schemas/issues.ts';
import type { AccessMode } from '../../../api/storage.ts';
import { kubernetesBytes } from '../../../lib/numbers.ts';
import { reasonOf } from '../../../lib/words/failures.ts';
import { describeYamlError } from '../../../lib/words/yaml.ts';

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

/** A size, as text or as a number of bytes. */
const size = z.preprocess(
  value => (typeof value === 'number' ? String(value) : value),
  z.string().transform((value, context) => {
    try {
      return kubernetesBytes(value);
    } catch (error) {
      context.addIssue((error as Error).message);
      return z.NEVER;
    }
  }),
);

/** The parts of a PersistentVolume of a CSI driver that describe its volume. */
const persistentVolume = z.object({
  kind: z.literal('PersistentVolume'),
  spec: z
    .object({
      capacity: z.object({ storage: size }),
      accessModes: z.array(z.enum(Object.keys(csiModes) as (keyof typeof csiModes)[])).min(1),
      volumeMode: z.enum(['Filesystem', 'Block']).default('Filesystem'),
      mountOptions: z.array(z.string()).optional(),
      csi: z.object({
        driver: z.string(),
        volumeHandle: z.string(),
        volumeAttributes: z.record(z.string(), z.string()).default({}),
        fsType: z.string().optional(),
        readOnly: z.boolean().default(false),
      }),
      nodeAffinity: z
        .object({
          required: z.object({
            nodeSelectorTerms: z.tuple([z.object({ matchExpressions: z.array(expression) })]),
          }),
        })
        .optional(),
    })
    // A driver's provisioner sets it for such a volume alone, and the manifest for Fairlead names this one mode.
    .refine(({ accessModes, csi }) => !csi.readOnly || accessModes.every(mode => mode === 'ReadOnlyMany'), {
      path: ['csi', 'readOnly'],
      message: 'needs ReadOnlyMany alone in spec.accessModes; correct one of them',
    }),
});

/** Reads the PersistentVolume of a volume that a CSI driver made. Throws one line that names the file and its fault. */
export function readPersistentVolume(path: string) {
  const read = persistentVolume.safeParse(readYaml(path));
  if (!read.success) {
    const faults = describeIssues(read.error, at => at.join('.') || 'the document');
    throw new Error(`"${path}" cannot be imported: ${faults.join('; ')}`);
  }
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
    sizeBytes: capacity.storage,
    isReadOnly: csi.readOnly,
    capabilities: accessModes.map(mode => Object.assign({ accessMode: csiModes[mode] }, use)),
    ...(terms && { topology: Object.fromEntries(terms.map(({ key, values: [value] }) => [key, value])) }),
  };
}

function readYaml(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const isMalformed = error instanceof YAMLParseError || error instanceof ReferenceError;
    const fault = isMalformed ? describeYamlError(Object(error)) : `: ${reasonOf(error)}`;
    throw new Error(`cannot read "${path}"${fault}`, { cause: error });
  }
}
