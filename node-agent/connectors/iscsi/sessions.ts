import type { Host } from '../../host.ts';
import { withPort, type Connection } from '../../host/connections.ts';
import { readLine } from '../../host/sysfs.ts';

/** A session with a target, over one of its portals: the kernel's number of it, and its SCSI host, such as `host3`. */
export type Session = Connection & { readonly id: string; readonly host: string };

/** A disk that a session brings. */
export type Unit = { readonly lun: number; readonly name: string | undefined };

const directory = '/sys/class/iscsi_session';

/** The sessions with a target, whoever began them. */
export async function readSessions(target: string, host: Host): Promise<readonly Session[]> {
  const names = await host.list(directory);
  const sessions = await Promise.all(names.map(name => readSession(name, target, host)));
  return sessions.filter(session => session !== undefined);
}

async function readSession(name: string, target: string, host: Host): Promise<Session | undefined> {
  if ((await readLine(`${directory}/${name}/targetname`, host)) !== target) return undefined;
  const id = name.replace('session', '');
  const connection = `/sys/class/iscsi_connection/connection${id}:0`;
  const [state, ip, port, [scsiHost]] = await Promise.all([
    readLine(`${directory}/${name}/state`, host),
    readLine(`${connection}/persistent_address`, host),
    readLine(`${connection}/persistent_port`, host),
    host.list(`${directory}/${name}/device/../scsi_host`),
  ]);
  if (ip === undefined || port === undefined || scsiHost === undefined) return undefined;
  return { id, host: scsiHost, address: withPort(ip, port), isUp: state === 'LOGGED_IN' };
}

/** The logical units of a session that the kernel has devices for. */
export async function readUnits({ id }: Session, host: Host): Promise<readonly Unit[]> {
  const device = `${directory}/session${id}/device`;
  const targets = (await host.list(device)).filter(name => name.startsWith('target'));
  const units: Unit[] = [];
  for (const target of targets)
    for (const unit of await host.list(`${device}/${target}`)) {
      const [, lun] = /^\d+:\d+:\d+:(\d+)$/.exec(unit) ?? [];
      if (lun === undefined) continue;
      const [name] = await host.list(`${device}/${target}/${unit}/block`);
      units.push({ lun: Number(lun), name });
    }
  return units;
}
