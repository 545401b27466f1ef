import { canonicalAddress } from '../../src/api/attachments/addresses.ts';
import type { Attachment, AttachmentOf } from '../../src/api/attachment.ts';
import { invalidProblem, preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { requireModule } from '../host/commands.ts';
import {
  undoRefused,
  type Device,
  type DeviceConnector,
  type OtherAttachments,
  type Secrets,
} from '../connector.ts';
import { requireUnused, cutOffDisk, settleDisk } from '../host/disk-use.ts';
import { fitDisk, isDisk, nameOf, readDisk, readWwid, requireIdentity } from '../host/disk.ts';
import { filterAsync, removeWith, waitFor, writeLine } from '../host/sysfs.ts';
import type { Host } from '../host.ts';
import { createKeyedQueue } from '../../src/lib/concurrency.ts';
import { readChap, type Chap } from './iscsi/chap.ts';
import {
  disableQueueing,
  findMaps,
  forgetPath,
  isMapOf,
  createMap,
  mapAbove,
  removeMap,
  resizeMap,
} from './iscsi/multipath.ts';
import { forget, logIn, logOut, readSessions, readUnits, type Session } from './iscsi/sessions.ts';

type IscsiAttachment = AttachmentOf<'iscsi'>;
/** A disk at the volume's unit number with its session; `isOwn`: it reports the volume's identity. */
type Path = { readonly name: string; readonly session: Session; readonly isOwn: boolean };

const targetPattern = /^(iqn|eui|naa)\.[A-Za-z0-9.:_-]{1,219}$/;

/**
 * Connects logical units of an iSCSI target with open-iscsi. iscsid keeps the sessions, which outlive the agent. multipathd
 * combines several portals into one device. Sessions use CHAP with the secrets, or the settings of the node's iscsid.conf.
 */
export const iscsi = createIscsi();

function createIscsi(): DeviceConnector<'iscsi'> {
  // Volumes on one target share its sessions, so they are connected and disconnected one at a time.
  const enqueue = createKeyedQueue();
  return {
    kind: 'device',
    connect: (attachment, host, secrets = {}) =>
      enqueue(attachment.target, () => connect(attachment, host, secrets)),
    disconnect: (attachment, host, others = () => []) =>
      enqueue(attachment.target, () => disconnect(attachment, host, others)),
    cutOff: (attachment, host) => enqueue(attachment.target, () => cutOff(attachment, host)),
    rescan,
    owns,
  };
}

async function connect(attachment: IscsiAttachment, host: Host, secrets: Secrets): Promise<Device> {
  requireIdentity(attachment);
  if (!targetPattern.test(attachment.target))
    throw invalidProblem(`iscsi target "${attachment.target}" is not a valid iSCSI name`);
  const chap = readChap(secrets);
  await requireModule(host, 'iscsi_tcp');
  const before = await readUnitsOf(attachment, host);
  const undo = () => takeBack(before, attachment, host);
  const names = await undoRefused(() => bringUnits(attachment, host, chap), undo);
  // multipathd may have combined a twin's disk with the volume's; `disconnect` separates them.
  await requireNoOthers(attachment, host);
  return undoRefused(() => describeDisks(names, attachment, host), undo);
}

/** Logs in, and returns the names of the volume's disks. */
async function bringUnits(attachment: IscsiAttachment, host: Host, chap: Chap): Promise<readonly string[]> {
  const sessions = await logIn(attachment, host, chap);
  for (const session of sessions) await bringUnit(session, attachment, host);
  return (await findDisks(sessions, attachment, host)).map(({ name }) => name);
}

/** Describes the volume's only disk, or the multipath map of all its disks. */
async function describeDisks(
  names: readonly string[],
  attachment: IscsiAttachment,
  host: Host,
): Promise<Device> {
  const [first = ''] = names;
  const isMultiple = attachment.portals.length > 1 || names.length > 1;
  const above = await mapAbove(first, host);
  const name = isMultiple || above !== undefined ? await createMap(names, attachment, host) : first;
  return fitDisk(name, { attachment, identity: nameOf(attachment), rescan }, host);
}

type UnitNames = ReadonlyMap<Session['id'], string | undefined>;

async function readUnitsOf({ target, lun }: IscsiAttachment, host: Host): Promise<UnitNames> {
  const found = new Map<string, string | undefined>();
  for (const session of await readSessions(target, host))
    found.set(session.id, (await readUnits(session, host)).find(unit => unit.lun === lun)?.name);
  return found;
}

/** Removes the disks, sessions and open-iscsi records that are new since `before`; a disk in use is UNAVAILABLE. */
async function takeBack(before: UnitNames, attachment: IscsiAttachment, host: Host): Promise<void> {
  const { target, portals } = attachment;
  const newNames = [...(await readUnitsOf(attachment, host))].flatMap(([id, name]) =>
    name !== undefined && before.get(id) !== name ? [name] : [],
  );
  for (const map of await findMaps(newNames, attachment, host)) await removeMap(map, host);
  for (const name of newNames) {
    const disk = await readDisk(name, host);
    if (!disk) continue;
    await requireUnused(disk, host);
    if (portals.length > 1) await forgetPath(name, host);
    await removeDisk(name, host);
  }
  for (const session of await readSessions(target, host))
    if (!before.has(session.id) && (await readUnits(session, host)).length === 0)
      await logOut(session, target, host);
  const left = new Set((await readSessions(target, host)).map(({ address }) => address));
  for (const portal of portals) if (!left.has(canonicalAddress(portal))) await forget(portal, target, host);
}

/** Makes the kernel create the unit's device, or read the identity of an existing one again. */
async function bringUnit(session: Session, { lun }: IscsiAttachment, host: Host): Promise<void> {
  const known = (await readUnits(session, host)).find(unit => unit.lun === lun);
  if (known?.name !== undefined) await writeLine(`/sys/block/${known.name}/device/rescan`, '1', host);
  else await writeLine(`/sys/class/scsi_host/${session.host}/scan`, `0 0 ${lun}`, host);
}

/** Waits until every session has a disk of the volume, and returns the disks found by then. */
async function findDisks(sessions: readonly Session[], attachment: IscsiAttachment, host: Host) {
  let paths: readonly Path[] = [];
  // A disk appears a little before its identity does.
  await waitFor(async () => {
    paths = await findPaths(sessions, attachment, host);
    return paths.filter(({ isOwn }) => isOwn).length === sessions.length || undefined;
  });
  const { target, lun } = attachment;
  if (paths.length === 0)
    throw unavailableProblem(`target "${target}" shows no disk as unit ${lun} yet; try again`);
  const foreign = paths.find(({ isOwn }) => !isOwn);
  if (!foreign) return paths;
  const found = await readWwid(`/sys/block/${foreign.name}`, host);
  throw preconditionProblem(
    `unit ${lun} of target "${target}" reports "${found}" and not "${nameOf(attachment)}"; check the target's units`,
  );
}

async function findPaths(sessions: readonly Session[], attachment: IscsiAttachment, host: Host) {
  const paths: Path[] = [];
  for (const session of sessions)
    for (const { lun, name } of await readUnits(session, host)) {
      if (lun !== attachment.lun || name === undefined) continue;
      paths.push({ name, session, isOwn: await isDisk(`/sys/block/${name}`, attachment, host) });
    }
  return paths;
}

/** FAILED_PRECONDITION if a disk of another target reports the same identity, since it is not another path to the volume. */
async function requireNoOthers(attachment: IscsiAttachment, host: Host): Promise<void> {
  const paths = await findPaths(await readSessions(attachment.target, host), attachment, host);
  const names = new Set(paths.map(({ name }) => name));
  for (const name of await host.list('/sys/block'))
    if (name.startsWith('sd') && !names.has(name) && (await isDisk(`/sys/block/${name}`, attachment, host)))
      throw preconditionProblem(
        `device "/dev/${name}" also reports "${nameOf(attachment)}" but does not belong to target "${attachment.target}"; give one of them another identity`,
      );
}

/** Finds the disks of the volume's target that report the volume's identity. */
async function findOwn(attachment: IscsiAttachment, host: Host): Promise<readonly Path[]> {
  const paths = await findPaths(await readSessions(attachment.target, host), attachment, host);
  return paths.filter(({ isOwn }) => isOwn);
}

async function disconnect(attachment: IscsiAttachment, host: Host, others: OtherAttachments): Promise<void> {
  const paths = await findOwn(attachment, host);
  const names = paths.map(({ name }) => name);
  const maps = await findMaps(names, attachment, host);
  for (const map of maps) await removeMap(map, host);
  for (const name of names) {
    // A map that also has a twin's disk stays and only loses the volume's disk.
    const isMapped = maps.length > 0 || (await mapAbove(name, host)) !== undefined;
    if (isMapped || attachment.portals.length > 1) await forgetPath(name, host);
    const disk = await readDisk(name, host);
    if (disk) await settleDisk(disk, host);
  }
  const isOver = await waitFor(async () => {
    // Removing a disk with a lost session would block. It vanishes with the session, or is removed when that is back.
    for (const { name, session } of await findOwn(attachment, host))
      if (session.isUp) await removeDisk(name, host);
    await endSessions(attachment, host, others);
    return (await isGone(names, attachment, host)) || undefined;
  });
  if (!isOver)
    throw unavailableProblem(`a disk of "${nameOf(attachment)}" still exists after it was removed`);
}

/** Sets the disks offline. Deleting them instead would first write the data in memory. */
async function cutOff(attachment: IscsiAttachment, host: Host): Promise<void> {
  const names = (await findOwn(attachment, host)).map(({ name }) => name);
  // With queueing on, requests without a path would wait for ever.
  for (const map of await findMaps(names, attachment, host)) await disableQueueing(map, host);
  for (const name of names) await cutOffDisk(name, host);
}

/** True if no disk of the volume is left, except disks of a lost session that other volumes still need. */
async function isGone(names: readonly string[], attachment: IscsiAttachment, host: Host): Promise<boolean> {
  const left = await filterAsync(names, name => isDisk(`/sys/block/${name}`, attachment, host));
  const known = left.length === 0 ? [] : await findOwn(attachment, host);
  return left.every(name => known.some(path => path.name === name && !path.session.isUp));
}

async function removeDisk(name: string, host: Host): Promise<void> {
  const remove = () => writeLine(`/sys/block/${name}/device/delete`, '1', host);
  const isThere = async () => (await readDisk(name, host)) !== undefined;
  await removeWith(remove, { what: `device "/dev/${name}"`, isThere });
}

/** Ends the sessions with the volume's portals that have no other unit and that no other volume needs. */
async function endSessions(attachment: IscsiAttachment, host: Host, others: OtherAttachments): Promise<void> {
  const { target, portals, lun } = attachment;
  const portalsOf = (other: Attachment): readonly string[] =>
    other.protocol === 'iscsi' && other.target === target ? other.portals : [];
  const needed = new Set(others().flatMap(portalsOf).map(canonicalAddress));
  const sessions = await readSessions(target, host);
  for (const portal of portals.filter(one => !needed.has(canonicalAddress(one)))) {
    const session = sessions.find(known => known.address === canonicalAddress(portal));
    const units = session ? await readUnits(session, host) : [];
    if (units.some(unit => unit.lun !== lun || session?.isUp)) continue;
    if (session) await logOut(session, target, host);
    for (const spelling of new Set([portal, session?.portal ?? portal])) await forget(spelling, target, host);
  }
}

async function rescan(attachment: IscsiAttachment, host: Host): Promise<void> {
  const paths = await findOwn(attachment, host);
  for (const { name, session } of paths)
    if (session.isUp) await writeLine(`/sys/block/${name}/device/rescan`, '1', host);
  const names = paths.map(({ name }) => name);
  for (const map of await findMaps(names, attachment, host)) await resizeMap(map, host);
}

async function owns(attachment: IscsiAttachment, number: string, host: Host): Promise<boolean> {
  const path = `/sys/dev/block/${number}`;
  return (await isDisk(path, attachment, host)) || isMapOf(path, attachment, host);
}
