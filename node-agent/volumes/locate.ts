import { Problem } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { deviceConnectorFor, shareConnectorFor } from '../connectors/index.ts';
import { topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { judge, ownNumber } from './ownership.ts';
import type { Records, VolumeRecord } from '../state/records.ts';

/** A volume, and one of the paths it is staged or published at. */
export type PathOfVolume = { readonly volumeId: string; readonly path: string };

/** A volume that is where it was said to be. */
export type Located = {
  readonly record: VolumeRecord;
  /** `major:minor` of its device, proved to be the volume's; a share has none. */
  readonly number: string | undefined;
  /** What is mounted at the path; a staged block volume has nothing there. */
  readonly mount: Mount | undefined;
};

/** `isAlone` says that nothing else is done with the volume meanwhile, so that its device may be connected. */
export type Search = PathOfVolume & { readonly isAlone?: boolean };

/** Finds a volume at a path; NOT_FOUND when it is not there. The path itself is not touched. */
export async function locate(agent: Agent, { volumeId, path, isAlone = false }: Search): Promise<Located> {
  const { host, records } = agent;
  const record = findHere(records, volumeId);
  const paths = record ? [record.stagingPath, ...record.targets.map(target => target.path)] : [];
  const mount = paths.includes(path) ? topMount(await host.mounts(), path) : undefined;
  const isShared = record !== undefined && shareConnectorFor(record.attachment) !== undefined;
  if (isShared && mount && (await judge(mount, record, host)) === 'own')
    return { record, number: undefined, mount };
  const number =
    record &&
    !isShared &&
    (mount
      ? await ownNumber(mount, record, host)
      : path === record.stagingPath && (await blockNumber(agent, record, isAlone)));
  if (!record || !number)
    throw new Problem('NOT_FOUND', `volume "${volumeId}" is neither staged nor published at "${path}"`);
  return { record, number, mount };
}

function findHere(records: Records, volumeId: string): VolumeRecord | undefined {
  const record = records.get(volumeId);
  return record?.isDown ? undefined : record;
}

/** The size of a block device in bytes, as the kernel sees it now; a device that is gone is UNAVAILABLE. */
export async function readSizeBytes({ host }: Pick<Agent, 'host'>, number: string): Promise<number> {
  const sectors = await host.readText(`/sys/dev/block/${number}/size`);
  if (sectors === undefined) throw new Problem('UNAVAILABLE', `device ${number} is gone`);
  return Number(sectors) * 512;
}

/** The device of a staged block volume, which is mounted nowhere; UNAVAILABLE where it would have to be connected. */
async function blockNumber(
  { host }: Agent,
  record: VolumeRecord,
  isAlone: boolean,
): Promise<string | undefined> {
  const { attachment, capability, device, volumeId } = record;
  if (capability.accessType !== 'block') return undefined;
  const connector = deviceConnectorFor(attachment);
  if (device && (await connector.owns(attachment, device.number, host))) return device.number;
  if (!isAlone)
    throw new Problem('UNAVAILABLE', `the device of block volume "${volumeId}" is not known to be connected`);
  return (await connector.connect(attachment, host)).number;
}
