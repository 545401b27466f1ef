import type { Host } from '../../host.ts';
import { readLine } from '../../host/sysfs.ts';

/** A session with a target, over one of its portals. */
export type Session = {
  /** The kernel's number of it. */
  readonly id: string;
  /** Its SCSI host, such as `host3`. */
  readonly host: string;
  /** The portal that it was logged in to, such as `192.0.2.7:3260`. */
  readonly portal: string;
  readonly isUp: boolean;
};

/** A disk that a session brings. */
export type Unit = { readonly lun: number; readonly name: string | undefined };

const place = '/sys/class/iscsi_session';

/** The sessions with a target, whoever began them. */
export async function readSessions(target: string, host: Host): Promise<readonly Session[]> {
  const names = await host.list(place);
  const sessions = await Promise.all(names.map(name => readSession(name, target, host)));
  return sessions.filter(session => session !== undefined);
}

async function readSession(name: string, target: string, host: Host): Promise<Session | undefined> {
  if ((await readLine(`${place}/${name}/targetname`, host)) !== target) return undefined;
  const id = name.replace('session', '');
  const connection = `/sys/class/iscsi_connection/connection${id}:0`;
  const [state, address, port, hosts] = await Promise.all([
    readLine(`${place}/${name}/state`, host),
    readLine(`${connection}/persistent_address`, host),
    readLine(`${connection}/persistent_port`, host),
    host.list(`${place}/${name}/device/../scsi_host`),
  ]);
  const [scsiHost] = hosts;
  if (address === undefined || port === undefined || scsiHost === undefined) return undefined;
  return {
    id,
    host: scsiHost,
    portal: `${address.includes(':') ? `[${address}]` : address}:${port}`,
    isUp: state === 'LOGGED_IN',
  };
}

/** The logical units of a session that the kernel has devices for. */
export async function readUnits({ id }: Session, host: Host): Promise<readonly Unit[]> {
  const device = `${place}/session${id}/device`;
  const targets = (await host.list(device)).filter(name => name.startsWith('target'));
  const units = await Promise.all(
    targets.map(async target => {
      const names = (await host.list(`${device}/${target}`)).filter(name => /^\d+(:\d+){3}$/.test(name));
      return Promise.all(names.map(name => readUnit(`${device}/${target}/${name}`, host)));
    }),
  );
  return units.flat();
}

async function readUnit(unit: string, host: Host): Promise<Unit> {
  const [name] = await host.list(`${unit}/block`);
  return { lun: Number(unit.slice(unit.lastIndexOf(':') + 1)), name };
}
