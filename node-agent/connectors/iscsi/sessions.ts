import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { describeFailure, runIfInstalled, runToEnd, runWell, type Ended } from '../../host/commands.ts';
import { connectMissing, withPort, type Connection } from '../../host/connections.ts';
import type { CommandLine } from '../../filesystem.ts';
import type { Host } from '../../host.ts';
import { readLine } from '../../host/sysfs.ts';
import { provesTarget, recordChap, type Chap } from './chap.ts';

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

/** iscsiadm's status for: records that could not be read, logged in already, nothing recorded, not authorized, otherwise refused for good (iscsiadm(8)). */
const [recordsFailed, sessionExists, nothingFound, notAuthorized, notNegotiated] = [6, 15, 21, 24, 19];
/** iscsiadm reads the records of all targets, whichever it is asked about, and fails when one of them goes meanwhile. */
const recordTries = 10;

/**
 * Units come one by one. A portal that does not answer is given up after some 10 seconds. A lost connection is made anew
 * for as long as it takes, while I/O waits: for 15 seconds where multipath has other paths, else for two minutes.
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

/** Logs in to every portal that has no session yet, each once; UNAUTHENTICATED when the target does not accept the node. */
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
  await runWell(host, recordLine(target, portal, ['--op', 'new']));
  const settings = Object.entries(settingsFor(attachment));
  const options = settings.flatMap(([name, value]) => ['--name', name, '--value', value]);
  await runWell(host, recordLine(target, portal, ['--op', 'update', ...options]));
  try {
    if (chap !== '') await recordChap(chap, portal, { target, host: login.host });
    const line = recordLine(target, portal, ['--login']);
    const result = await runToEnd(host, line);
    if (result.status !== 0 && result.status !== sessionExists) throw loginProblem(line, result, login);
  } catch (error) {
    // No session has the secrets, and the next try brings its own.
    if (chap !== '') await forget(portal, target, host).catch(() => {});
    throw error;
  }
}

/** What a login that failed means; only that the target refuses the node has a status of its own. */
function loginProblem(line: CommandLine, result: Ended, { attachment, chap }: Login): Problem {
  const said = describeFailure(line, result);
  const target = `target "${attachment.target}"`;
  if (result.status === notAuthorized) {
    const how = chap === '' ? 'without secrets' : 'with the secrets given';
    return new Problem('UNAUTHENTICATED', `${target} does not accept this node ${how}: ${said}`);
  }
  const isDoubtful = result.status === notNegotiated && provesTarget(chap);
  return unavailableProblem(isDoubtful ? `${target} may not have proved itself: ${said}` : said);
}

/** Ends one session. */
export async function logOut({ id }: Session, target: string, host: Host): Promise<void> {
  const line = { command: 'iscsiadm', args: ['--mode', 'session', '--sid', id, '--logout'] };
  requireEnded(line, await runToEnd(host, line));
  if ((await readSessions(target, host)).some(session => session.id === id))
    throw unavailableProblem(`session ${id} is still there after it was ended`);
}

/** Forgets how a portal is logged in to; that it was not known is fine. */
export async function forget(portal: string, target: string, host: Host): Promise<void> {
  const line = recordLine(target, portal, ['--op', 'delete']);
  // Without the tool nothing was ever recorded.
  requireEnded(line, await runIfInstalled(retryOnRecords(host), line));
}

/** The same host; what fails because others change the records is run again. */
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

/** What is not there needs no end. */
function requireEnded(line: CommandLine, result: Ended | undefined): void {
  if (result && result.status !== 0 && result.status !== nothingFound)
    throw unavailableProblem(describeFailure(line, result));
}
