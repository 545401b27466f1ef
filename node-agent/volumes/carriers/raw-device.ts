import { Problem } from '../../../src/api/problem.ts';
import { isAtOrBelow, topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import { deviceNumberOf } from '../../host/mount.ts';
import type { VolumeRecord } from '../../state/records.ts';
import type { Agent } from '../agent.ts';
import { inaccessible, type At, type Carrier, type Source } from '../carrier.ts';
import {
  connectDevice,
  connectUnshared,
  deviceMembers,
  findOwnNumber,
  isOwnNumber,
  judgeDevice,
  locateDevice,
} from '../device.ts';
import { requireNoFormatOptions } from '../request-checks.ts';

/** A device that a pod uses as it is: it is connected when staged, and its node is bound when published. */
export function createRawDevice(agent: Agent, record: VolumeRecord): Carrier {
  const { attachment, device, volumeId } = record;
  const { host } = agent;
  const isConnected = async () => device && (await isOwnNumber(attachment, device.number, host));
  return {
    isMounted: false,
    ...deviceMembers(agent, record),
    requireUsable: () => requireNoFormatOptions(record, 'block volume'),
    connect: async secrets => ({
      device: await connectUnshared(agent, record, secrets),
      prepare: async () => undefined,
    }),
    judge: mount => judgeDevice(agent, record, mount),
    // Nothing is ever mounted where it is staged.
    isAsAsked: () => false,
    findUses: () => [],
    findSource: () => findNode(agent, record),
    async locate(at) {
      const number = await findNumber(agent, record, at);
      return number === undefined ? undefined : locateDevice(agent, record, number);
    },
    async examine() {
      if (!device || (await isConnected())) return [];
      return [inaccessible('DeviceGone', `device "${device.path}" of volume "${volumeId}" is gone`)];
    },
    async isHere(disks) {
      for (const { number } of disks) if (await isOwnNumber(attachment, number, host)) return true;
      return false;
    },
  };
}

/** The device's node; the device is connected anew where it is not known to be. */
async function findNode(agent: Agent, record: VolumeRecord): Promise<Source> {
  const { host, records, base } = agent;
  const { attachment, device: known } = record;
  const isKnown = known && (await isOwnNumber(attachment, known.number, host));
  const device = isKnown ? known : await connectDevice(agent, record);
  if (!isKnown) records.keep({ ...record, device });
  const shows = async (mount: Mount) => (await deviceNumberOf(mount, host)) === device.number;
  return {
    path: device.path,
    readonly: device.readonly,
    canBeReadonly: device.readonly,
    shows,
    async findUse(mounts) {
      for (const mount of mounts)
        if (isAtOrBelow(mount.path, base.real) && (await shows(mount))) return mount;
      return undefined;
    },
  };
}

/** The number of its device at a target path, or at the staging path, where nothing is mounted. */
async function findNumber(
  agent: Agent,
  record: VolumeRecord,
  { path, mounts, isAlone }: At,
): Promise<string | undefined> {
  const { attachment, device, stagingPath, volumeId } = record;
  const mount = topMount(mounts, path);
  if (mount) return findOwnNumber(agent, record, mount);
  if (path !== stagingPath) return undefined;
  if (device && (await isOwnNumber(attachment, device.number, agent.host))) return device.number;
  if (!isAlone)
    throw new Problem('UNAVAILABLE', `the device of block volume "${volumeId}" is not known to be connected`);
  return (await connectDevice(agent, record)).number;
}
