import { createHash } from 'node:crypto';
import { canonicalAddress } from '../../../src/api/attachments/addresses.ts';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import {
  describeFailure,
  runIfInstalled,
  runToEnd,
  runWell,
  type CommandResult,
} from '../../host/commands.ts';
import { connectMissing, withPort, type Connection } from '../../host/connections.ts';
import type { CommandLine, Host } from '../../host.ts';
import { readLine } from '../../host/sysfs.ts';
import { provesTarget, recordChap, type Chap } from './chap.ts';

/** A session with a target over one portal: the kernel's number, the SCSI host such as `host3`, and open-iscsi's portal text. */
export type Session = Connection & { readonly id: string; readonly host: string; readonly portal: string };

export type Unit = { readonly lun: number; readonly name: string | undefined };

const directory = '/sys/class/iscsi_session';

/** Lists all sessions with a target, even if the agent did not start them. */
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
  const portal = withPort(ip, port);
  return { id, host: scsiHost, portal, address: canonicalAddress(portal), isUp: state === 'LOGGED_IN' };
}

/** Lists the logical units of a session that the kernel has devices for. */
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

/** Exit statuses of iscsiadm (iscsiadm(8)); the last one is any other final refusal. */
const [recordsFailed, sessionExists, nothingFound, notAuthorized, notNegotiated] = [6, 15, 21, 24, 19];
/** Maximum tries of iscsiadm, which reads the records of all targets and fails if one of them vanishes meanwhile. */
const recordTries = 10;

/**
 * Makes the settings of a session. Units are not scanned automatically. A portal that does not answer is given up after about
 * 10 seconds. Lost connections are retried without limit; I/O waits for 15 seconds with several portals, otherwise 2 minutes.
 */
function settingsFor({ portals }: AttachmentOf<'iscsi'>): Readonly<Record<string, string>> {
  return {
    'node.startup': 'manual',
    'node.session.scan': 'manual',
    'node.session.nr_sessions': '1',
    'node.session.initial_login_retry_max': '1',
    'node.session.timeo.replacement_timeout': portals.length > 1 ? '15' : '120',
    'node.conn[0].timeo.login_timeout': '10',
    'node.conn[0].timeo.noop_out_interval': '5',
    'node.conn[0].timeo.noop_out_timeout': '5',
  };
}

/** Logs in once to each portal without a session; UNAUTHENTICATED if the target does not accept the node. */
export function logIn(
  attachment: AttachmentOf<'iscsi'>,
  host: Host,
  chap: Chap,
): Promise<readonly Session[]> {
  const { target, portals } = attachment;
  return connectMissing({
    addresses: portals,
    read: () => readSessions(target, host),
    connect: portal => logInTo(portal, { attachment, chap, host }),
    what: `session with target "${target}"`,
  });
}

type Login = { readonly attachment: AttachmentOf<'iscsi'>; readonly chap: Chap; readonly host: Host };

async function logInTo(portal: string, login: Login): Promise<void> {
  const { attachment, chap } = login;
  const { target } = attachment;
  const host = retryOnRecords(login.host);
  const named = await nameNode(attachment, host);
  await runWell(host, recordLine(target, portal, ['--op', 'new', ...named]));
  const settings = Object.entries(settingsFor(attachment));
  const options = settings.flatMap(([name, value]) => ['--name', name, '--value', value]);
  await runWell(host, recordLine(target, portal, ['--op', 'update', ...options]));
  try {
    if (chap !== '') await recordChap(chap, portal, { target, host: login.host });
    const line = recordLine(target, portal, ['--login']);
    const result = await runToEnd(host, line);
    if (result.status !== 0 && result.status !== sessionExists) throw loginProblem(line, result, login);
  } catch (error) {
    // The record would keep the secrets without a session, and the next try brings its own.
    if (chap !== '') await forget(portal, target, host).catch(() => {});
    throw error;
  }
}

/**
 * Records the name by which the node logs in as an interface of open-iscsi, and returns the options of a portal's record
 * for it; none for the node's own name. The interface stays, because portals of other volumes use it, too.
 */
async function nameNode({ initiator }: AttachmentOf<'iscsi'>, host: Host): Promise<readonly string[]> {
  if (initiator === undefined) return [];
  const name = `fairlead.${createHash('sha256').update(initiator).digest('hex').slice(0, 16)}`;
  const interfaceLine = (...args: readonly string[]): CommandLine => ({
    command: 'iscsiadm',
    args: ['--mode', 'iface', '--interface', name, ...args],
  });
  const update = interfaceLine('--op', 'update', '--name', 'iface.initiatorname', '--value', initiator);
  if ((await runToEnd(host, update)).status !== 0) {
    await runWell(host, interfaceLine('--op', 'new'));
    await runWell(host, update);
  }
  return ['--interface', name];
}

/** Makes the problem of a failed login. iscsiadm has a separate status only for a target that refuses the node. */
function loginProblem(line: CommandLine, result: CommandResult, { attachment, chap }: Login): Problem {
  const failure = describeFailure(line, result);
  const target = `target "${attachment.target}"`;
  if (result.status === notAuthorized) {
    const how = chap === '' ? 'without secrets' : 'with the secrets given';
    return new Problem('UNAUTHENTICATED', `${target} does not accept this node ${how}: ${failure}`);
  }
  const isDoubtful = result.status === notNegotiated && provesTarget(chap);
  return unavailableProblem(
    isDoubtful ? `${target} may have failed to authenticate itself: ${failure}` : failure,
  );
}

export async function logOut({ id }: Session, target: string, host: Host): Promise<void> {
  const line = { command: 'iscsiadm', args: ['--mode', 'session', '--sid', id, '--logout'] };
  requireEnded(line, await runToEnd(host, line));
  if ((await readSessions(target, host)).some(session => session.id === id))
    throw unavailableProblem(`session ${id} with target "${target}" still exists after it was ended`);
}

/** Deletes open-iscsi's record of a portal. If there is none, nothing happens. */
export async function forget(portal: string, target: string, host: Host): Promise<void> {
  const line = recordLine(target, portal, ['--op', 'delete']);
  // If the tool is not installed, there is no record.
  requireEnded(line, await runIfInstalled(retryOnRecords(host), line));
}

/** Wraps a host so that it repeats commands that fail because other processes change the records. */
function retryOnRecords(host: Host): Host {
  return {
    ...host,
    async run(command, args, options) {
      for (let left = recordTries; ; left--) {
        const result = await host.run(command, args, options);
        if (result.status !== recordsFailed || left === 1) return result;
      }
    },
  };
}

function recordLine(target: string, portal: string, args: readonly string[]): CommandLine {
  const record = ['--mode', 'node', '--targetname', target, '--portal', portal];
  return { command: 'iscsiadm', args: [...record, ...args] };
}

/** UNAVAILABLE if iscsiadm failed, unless there was nothing to end. */
function requireEnded(line: CommandLine, result: CommandResult | undefined): void {
  if (result && result.status !== 0 && result.status !== nothingFound)
    throw unavailableProblem(describeFailure(line, result));
}
