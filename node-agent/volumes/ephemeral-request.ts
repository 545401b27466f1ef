import { formatOptionsOf, type FormatOptions } from '../../src/api/filesystems.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/resources.ts';
import { bytes } from '../../src/lib/parsers.ts';
import { isReaderOnly } from './request-checks.ts';

/** A volume that lives and dies with one pod, and where it shall be mounted. */
export type EphemeralRequest = {
  readonly volumeId: string;
  readonly targetPath: string;
  readonly capability: Capability;
  readonly readonly: boolean;
  /** Whole MiB. */
  readonly sizeBytes: number;
  /** Shall own the files; absent where that is not the agent's task. */
  readonly group?: number;
  readonly formatOptions?: FormatOptions | undefined;
};

/** True when a volume's context says that it lives and dies with its pod. */
export function isEphemeral(context: Readonly<Record<string, string>>): boolean {
  return context['csi.storage.k8s.io/ephemeral'] === 'true';
}

/** What a pod may say of its volume, beside what Kubernetes adds; INVALID_ARGUMENT names what is missing or unknown. */
export function readAttributes(
  context: Readonly<Record<string, string>>,
): Pick<EphemeralRequest, 'sizeBytes' | 'formatOptions'> {
  const options = formatOptionsOf(context);
  const unknown = Object.keys(context).find(
    key => key !== 'size' && !key.includes('/') && !Object.hasOwn(options, key),
  );
  if (unknown !== undefined)
    throw new Problem(
      'INVALID_ARGUMENT',
      `volume attribute "${unknown}" is not known; there are size and fs.…`,
    );
  return {
    sizeBytes: readSize(context.size),
    ...(Object.keys(options).length > 0 && { formatOptions: options }),
  };
}

const stepBytes = 1024 * 1024;

/** Rounded up to whole MiB. */
function readSize(text: string | undefined): number {
  if (text === undefined)
    throw new Problem('INVALID_ARGUMENT', 'volume attribute "size" is missing, such as 1Gi');
  try {
    const sizeBytes = Math.ceil(bytes(text) / stepBytes) * stepBytes;
    if (sizeBytes > 0 && Number.isSafeInteger(sizeBytes)) return sizeBytes;
  } catch (error) {
    throw new Problem('INVALID_ARGUMENT', `volume attribute "size": ${asProblemText(error)}`, error);
  }
  throw new Problem('INVALID_ARGUMENT', `volume attribute "size" is ${text}`);
}

function asProblemText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** INVALID_ARGUMENT for what an empty volume of one pod cannot be: read-only, or a block device. */
export function refuseUnusable({ volumeId, readonly, capability }: EphemeralRequest): void {
  if (readonly || isReaderOnly(capability) || capability.mountFlags?.includes('ro'))
    throw new Problem(
      'INVALID_ARGUMENT',
      `ephemeral volume "${volumeId}" is empty at first and cannot be read-only`,
    );
  if (capability.accessType === 'block')
    throw new Problem('INVALID_ARGUMENT', `ephemeral volume "${volumeId}" cannot be a block volume`);
}
