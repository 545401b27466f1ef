import type { Host } from '../../host.ts';
import { inDirectory } from '../target-path.ts';
import { fileNameOf, readLast, withoutMarks, writeRecord, type VolumeRecord } from '../../state/records.ts';

/*
 * A staged block volume has no mount. If the agent's records were lost, nothing would lead to its device, which would stay
 * connected. So its staging directory, which is otherwise empty, holds a copy of its record.
 */

type CopyLocation = Pick<VolumeRecord, 'volumeId' | 'stagingPath'>;

/**
 * Writes the copy durably unless the same copy exists; makes the directory if it is missing. The copy has no marks of an
 * unfinished stage or an interrupted mkfs, because the volume may hold data by the time that the copy is read.
 */
export async function leaveCopy(host: Host, record: VolumeRecord): Promise<void> {
  const copy = withoutMarks(record);
  await inDirectory(host, record.stagingPath, host.createDirectory);
  if (JSON.stringify(await readCopy(host, record)) === JSON.stringify(copy)) return;
  await inDirectory(host, pathOf(record), at => writeRecord(at, copy, host.writeDurably));
}

/** Reads the record of the last staging at the path; undefined if the copy is missing or damaged. */
export async function readCopy(host: Host, named: CopyLocation): Promise<VolumeRecord | undefined> {
  const text = await inDirectory(host, pathOf(named), async at =>
    (await host.kindOf(at)) === 'filled' ? host.readText(at) : undefined,
  );
  const record = text === undefined ? '' : readLast(fileNameOf(named.volumeId), text);
  return typeof record !== 'string' && record.stagingPath === named.stagingPath ? record : undefined;
}

/** Removes the copy and any draft that a crash left. If both are missing, nothing happens. */
export async function removeCopy(host: Host, named: CopyLocation): Promise<void> {
  if ((await host.kindOf(named.stagingPath)) !== 'directory') return;
  for (const path of [pathOf(named), `${pathOf(named)}.tmp`])
    await inDirectory(host, path, at => host.removeFile(at));
}

function pathOf({ volumeId, stagingPath }: CopyLocation): string {
  return `${stagingPath}/${fileNameOf(volumeId)}`;
}
