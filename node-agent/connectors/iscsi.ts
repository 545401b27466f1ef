import type { AttachmentOf } from '../../src/api/attachment.ts';
import { invalidProblem, preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { requireModule } from '../host/commands.ts';
import type { Device, DeviceConnector, Others, Secrets } from '../connector.ts';
import { settleDisk } from '../host/disk-use.ts';
import { fitDisk, isDisk, nameOf, readDisk, readWwid, requireIdentity } from '../host/disk.ts';
import { filterAsync, removeWith, waitFor, writeLine } from '../host/sysfs.ts';
import type { Host } from '../host.ts';
import { createKeyedQueue } from '../../src/lib/concurrency.ts';
import { readChap } from './iscsi/chap.ts';
import { findMaps, forgetPath, isMapOf, makeMap, mapAbove, removeMap, resizeMap } from './iscsi/multipath.ts';
import { forget, logIn, logOut, readSessions, readUnits, type Session } from './iscsi/sessions.ts';

type IscsiAttachment = AttachmentOf<'iscsi'>;
/** A disk that may be the volume's, the session that brings it, and whether it says that it is. */
type Path = { readonly name: string; readonly session: Session; readonly isOwn: boolean };

const targetPattern = /^(iqn|eui|naa)\.[A-Za-z0-9.:_-]{1,219}$/;

/**
 * A logical unit of an iSCSI target, over open-iscsi: iscsid has the sessions, which outlive the agent. Over several
 * portals it is one device of multipathd's. With secrets sessions use CHAP; without, what the node's iscsid.conf says.
 */
export const iscsi = createIscsi();

function createIscsi(): DeviceConnector<'iscsi'> {
  // Volumes on one target share its sessions, so that one comes or goes at a time.
  const inTurn = createKeyedQueue();
  return {
    kind: 'device',
    connect: (attachment, host, secrets = {}) =>
      inTurn(attachment.target, () => connect(attachment, host, secrets)),
    disconnect: (attachment, host, others = () => []) =>
      inTurn(attachment.target, () => disconnect(attachment, host, others)),
    rescan,
    owns,
  };
}

async function connect(attachment: IscsiAttachment, host: Host, secrets: Secrets): Promise<Device> {
  requireIdentity(attachment);
  if (!targetPattern.test(attachment.target))
    throw invalidProblem(`iscsi target "${attachment.target}" is no iSCSI name`);
  const chap = readChap(secrets);
  await requireModule(host, 'iscsi_tcp');
  const sessions = await logIn(attachment, host, chap);
  for (const session of sessions) await bringUnit(session, attachment, host);
  const paths = await findDisks(sessions, attachment, host);
  await requireNoOthers(attachment, host);
  const names = paths.map(({ name }) => name);
  const [first = ''] = names;
  const isMultiple = attachment.portals.length > 1 || names.length > 1;
  const above = await mapAbove(first, host);
  const name = isMultiple || above !== undefined ? await makeMap(names, attachment, host) : first;
  return fitDisk(name, { attachment, identity: nameOf(attachment), rescan }, host);
}

/** Has the kernel make a device of the unit, or look anew at what the one that it has says of itself. */
async function bringUnit(session: Session, { lun }: IscsiAttachment, host: Host): Promise<void> {
  const known = (await readUnits(session, host)).find(unit => unit.lun === lun);
  if (known?.name !== undefined) await writeLine(`/sys/block/${known.name}/device/rescan`, '1', host);
  else await writeLine(`/sys/class/scsi_host/${session.host}/scan`, `0 0 ${lun}`, host);
}

/** The volume's disks once every session has one, or else those that are there after a while. */
async function findDisks(sessions: readonly Session[], attachment: IscsiAttachment, host: Host) {
  let paths: readonly Path[] = [];
  // A disk is there a little before it says what it is.
  await waitFor(async () => {
    paths = await findPaths(sessions, attachment, host);
    return paths.filter(({ isOwn }) => isOwn).length === sessions.length || undefined;
  });
  const { target, lun } = attachment;
  if (paths.length === 0) throw unavailableProblem(`target "${target}" shows no disk as unit ${lun} yet`);
  const foreign = paths.find(({ isOwn }) => !isOwn);
  if (!foreign) return paths;
  const said = await readWwid(`/sys/block/${foreign.name}`, host);
  throw preconditionProblem(
    `unit ${lun} of target "${target}" says that it is "${said}" and not "${nameOf(attachment)}"`,
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

/** A disk that says the same of itself and is not reached over this target is not another path to it. */
async function requireNoOthers(attachment: IscsiAttachment, host: Host): Promise<void> {
  const paths = await findPaths(await readSessions(attachment.target, host), attachment, host);
  const names = new Set(paths.map(({ name }) => name));
  for (const name of await host.list('/sys/block'))
    if (name.startsWith('sd') && !names.has(name) && (await isDisk(`/sys/block/${name}`, attachment, host)))
      throw preconditionProblem(
        `device "/dev/${name}" says that it is "${nameOf(attachment)}" too, and is not reached over target "${attachment.target}"`,
      );
}

/** The disks that are reached over the volume's target and say that they are the volume. */
async function findOwn(attachment: IscsiAttachment, host: Host): Promise<readonly Path[]> {
  const paths = await findPaths(await readSessions(attachment.target, host), attachment, host);
  return paths.filter(({ isOwn }) => isOwn);
}

async function disconnect(attachment: IscsiAttachment, host: Host, others: Others): Promise<void> {
  const paths = await findOwn(attachment, host);
  const names = paths.map(({ name }) => name);
  const maps = await findMaps(names, attachment, host);
  for (const map of maps) await removeMap(map, host);
  for (const name of names) {
    // A map that has a twin's disk too stays, without the volume's.
    const isMapped = maps.length > 0 || (await mapAbove(name, host)) !== undefined;
    if (isMapped || attachment.portals.length > 1) await forgetPath(name, host);
    const disk = await readDisk(name, host);
    if (disk) await settleDisk(disk, host);
  }
  const isOver = await waitFor(async () => {
    // A disk whose session is lost would wait for it; it goes with the session, a little later, or when that is back.
    for (const { name, session } of await findOwn(attachment, host))
      if (session.isUp) await removeDisk(name, host);
    await endSessions(attachment, host, others);
    return (await isGone(names, attachment, host)) || undefined;
  });
  if (!isOver)
    throw unavailableProblem(`a disk of "${nameOf(attachment)}" is still there after it was removed`);
}

/** True when none of the disks is the volume's any more, but for those of a lost session that stays for other volumes. */
async function isGone(names: readonly string[], attachment: IscsiAttachment, host: Host): Promise<boolean> {
  const left = await filterAsync(names, name => isDisk(`/sys/block/${name}`, attachment, host));
  const known = left.length === 0 ? [] : await findOwn(attachment, host);
  return left.every(name => known.some(path => path.name === name && !path.session.isUp));
}

async function removeDisk(name: string, host: Host): Promise<void> {
  const remove = () => writeLine(`/sys/block/${name}/device/delete`, '1', host);
  await removeWith(remove, `device "/dev/${name}"`, async () => (await readDisk(name, host)) !== undefined);
}

/** Ends the sessions with the volume's portals that no other volume needs, and that have no other unit. */
async function endSessions(attachment: IscsiAttachment, host: Host, others: Others): Promise<void> {
  const { target, portals, lun } = attachment;
  const needed = others().flatMap(other =>
    other.protocol === 'iscsi' && other.target === target ? other.portals : [],
  );
  const sessions = await readSessions(target, host);
  for (const portal of new Set(portals).difference(new Set(needed))) {
    const session = sessions.find(known => known.address === portal);
    const units = session ? await readUnits(session, host) : [];
    if (units.some(unit => unit.lun !== lun || session?.isUp)) continue;
    if (session) await logOut(session, target, host);
    await forget(portal, target, host);
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
