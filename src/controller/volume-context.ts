import type { StorageClient } from '../api/client.ts';
import { formatOptionsOf, isFilesystemName, isForNodes, requireFormatOptions } from '../api/filesystems.ts';
import type { Call } from '../api/http.ts';
import { invalidProblem } from '../api/problem.ts';
import type { Capability } from '../api/storage.ts';
import type { Volume } from '../api/volume.ts';

/** A volume as its PersistentVolume describes it; people may write these by hand. */
type VolumeDescription = {
  readonly volumeId: string;
  readonly context: Readonly<Record<string, string>>;
  readonly capability: Capability;
};

/**
 * INVALID_ARGUMENT for a volume_context that differs from the volume's record, so that no one relies on a property
 * that the volume lacks, such as encryption. Format options without a record are left to the node. An empty context
 * costs no call.
 */
export async function requireTrueContext(
  client: Pick<StorageClient, 'getVolume'>,
  { volumeId, context, capability }: VolumeDescription,
  call: Call,
): Promise<void> {
  if (Object.keys(context).length === 0) return;
  const volume = await client.getVolume({ volumeId }, call);
  const faults = Object.entries(context).flatMap(entry => findFault(entry, volume) ?? []);
  if (faults.length > 0)
    throw invalidProblem(
      `the volumeAttributes of volume "${volumeId}" differ from the volume: ${faults.join('; ')}`,
    );
  const { fsType = '' } = capability;
  requireFormatOptions(formatOptionsOf(context), isFilesystemName(fsType) ? fsType : undefined);
}

/** Describes the fault of one entry and its remedy; undefined when the entry is right. */
function findFault([key, value]: readonly [string, string], volume: Volume): string | undefined {
  const recorded = recordOf(volume)[key];
  if (recorded === value) return undefined;
  if (recorded !== undefined)
    return `"${key}" is "${value}", but the volume has "${recorded}"; remove the key`;
  if (key === 'encryption')
    return `"encryption" is "${value}", but the volume is not encrypted; remove the key, or create the volume from a class with encryption`;
  return isForNodes(key) ? undefined : `"${key}" is unknown; remove the key`;
}

/** The true entries of a volume's context: its parameters at creation, and the entries that its storage added. */
function recordOf({ pool, parameters, context }: Volume): Readonly<Record<string, string | undefined>> {
  return { pool, ...parameters, ...context };
}
