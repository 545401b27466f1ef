import type { Mount } from '../../../src/lib/linux/mountinfo.ts';
import type { Connection, Device, Judgement } from '../../connector.ts';
import {
  closeView,
  findViewed,
  findViews,
  growView,
  openView,
  type ReadonlyView,
} from '../../connectors/index.ts';
import type { Host } from '../../host.ts';
import { deviceNumberOf, isDeviceNode } from '../../host/mount.ts';
import { isStill, judgeDevice, owns, toConnection, type DeviceVolume } from '../device.ts';

/**
 * Read-only views: a pod that only reads a writable block volume gets a read-only loop device over the volume's device, since
 * writes to a device node pass through a read-only mount. Each target path has its own view.
 */

/** Makes a view of a volume's device and passes it to `note`; removes the view if `note` fails. */
export async function openNotedView(
  device: Device,
  host: Host,
  note: (view: Connection) => Promise<void>,
): Promise<Connection> {
  const view = await openView(device, host);
  try {
    const connection = await toConnection(view, host);
    await note(connection);
    return connection;
  } catch (error) {
    await closeView(view, host).catch(() => {});
    throw error;
  }
}

/** Returns the number of the device that a mount shows, directly or through a view; undefined if it shows none. */
export async function findShown(mount: Mount, host: Host): Promise<string | undefined> {
  const number = await deviceNumberOf(mount, host);
  return number === undefined ? undefined : ((await findViewed(number, host)) ?? number);
}

/** Judges a mount; a recorded view of a missing device counts as a leftover of its volume. */
export async function judgeShown(volume: DeviceVolume, mount: Mount): Promise<Judgement> {
  const { agent, record } = volume;
  const number = await deviceNumberOf(mount, agent.host);
  if (number === undefined) return 'foreign';
  const judgement = await judgeDevice(volume, (await findViewed(number, agent.host)) ?? number);
  if (judgement !== 'foreign') return judgement;
  const views = record.targets.map(({ view }) => view).filter(view => view?.number === number);
  for (const view of views) if (view && (await isStill(view, agent.host))) return 'stale';
  return 'foreign';
}

/** Lists the views that the mounts show. */
export async function viewsAt(mounts: readonly Mount[], host: Host): Promise<readonly ReadonlyView[]> {
  const views: ReadonlyView[] = [];
  for (const mount of mounts.filter(isDeviceNode)) {
    const number = await deviceNumberOf(mount, host);
    if (number !== undefined && (await findViewed(number, host)) !== undefined)
      views.push({ path: `/dev${mount.root}`, number });
  }
  return views;
}

export async function closeRecorded(view: Connection | undefined, host: Host): Promise<void> {
  if (view && (await isStill(view, host))) await closeView(view, host);
}

/** Removes all views of an unpublished volume, even if its record or its device is lost. */
export async function closeViews(volume: DeviceVolume): Promise<void> {
  const { agent, record } = volume;
  for (const { view } of record.targets) await closeRecorded(view, agent.host);
  for (const view of await findViews(number => owns(volume, number), agent.host))
    await closeView(view, agent.host);
}

/** Grows the views of a volume to the current size of its device. */
export async function growViews(volume: DeviceVolume): Promise<void> {
  const { host } = volume.agent;
  for (const view of await findViews(number => owns(volume, number), host)) await growView(view, host);
}
