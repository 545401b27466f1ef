import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { Problem } from '../../../src/api/problem.ts';
import { describeFailure, runIfInstalled, runToEnd, runWell, type Ended } from '../../host/commands.ts';
import type { CommandLine } from '../../filesystem.ts';
import type { Host } from '../../host.ts';
import { provesTarget, recordChap, type Chap } from './chap.ts';
import { readSessions, type Session } from './sessions.ts';

/**
 * iscsiadm's status for "session is logged in", "no records found", "login failed due to authorization failure", and
 * a login that failed in any other way that trying again does not help (iscsiadm(8)).
 */
const sessionExists = 15;
const nothingFound = 21;
const notAuthorized = 24;
const notNegotiated = 19;

/**
 * What holds for the sessions of this agent. Units come one by one, as they are attached, and not all that the target
 * has. A portal that does not answer is given up at login after some 10 seconds. A connection counts as lost when it
 * answers no ping for 10 seconds; then iscsid logs in again for as long as it takes, while the kernel holds I/O back:
 * for 15 seconds where multipath has other ways, and for two minutes where there is none, when it fails.
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

/**
 * Logs in to every portal that has no session yet; returns those that are up, and throws when none is: UNAUTHENTICATED
 * when the target does not accept the node. Each portal is tried once.
 */
export async function logIn(
  attachment: AttachmentOf<'iscsi'>,
  host: Host,
  chap: Chap,
): Promise<readonly Session[]> {
  const { target, portals } = attachment;
  const before = await readSessions(target, host);
  const missing = portals.filter(portal => !before.some(session => session.portal === portal));
  const results = await Promise.allSettled(
    missing.map(portal => logInTo(portal, { attachment, chap, host })),
  );
  const isUp = ({ portal, isUp: up }: Session) => up && portals.includes(portal);
  const sessions = (await readSessions(target, host)).filter(isUp);
  const faults = results.flatMap(result => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const fault = faults.find(each => !(each instanceof Problem)) ?? faults.find(isRefusal) ?? faults[0];
  if (faults.length > 0 && (sessions.length === 0 || !(fault instanceof Problem))) throw fault;
  if (sessions.length === 0)
    throw new Problem('UNAVAILABLE', `no session with target "${target}" is up; iscsid tries on`);
  return sessions;
}

/** A login that is refused says more than a portal that does not answer. */
function isRefusal(fault: unknown): boolean {
  return fault instanceof Problem && fault.code === 'UNAUTHENTICATED';
}

type Login = { readonly attachment: AttachmentOf<'iscsi'>; readonly chap: Chap; readonly host: Host };

async function logInTo(portal: string, { attachment, chap, host }: Login): Promise<void> {
  const record = recordLine(attachment.target, portal);
  await runWell(host, { ...record, args: [...record.args, '--op', 'new'] });
  const settings = Object.entries(settingsFor(attachment)).flatMap(([name, value]) => {
    const pair: readonly string[] = ['--name', name, '--value', value];
    return pair;
  });
  await runWell(host, { ...record, args: [...record.args, '--op', 'update', ...settings] });
  try {
    if (chap !== '') await recordChap(chap, portal, { target: attachment.target, host });
    const line = { ...record, args: [...record.args, '--login'] };
    const result = await runToEnd(host, line);
    if (result.status !== 0 && result.status !== sessionExists)
      throw loginProblem(line, result, { attachment, chap });
  } catch (error) {
    // No session has the secrets, and the next try brings its own.
    if (chap !== '') await forget(portal, attachment.target, host).catch(() => {});
    throw error;
  }
}

/** What a login that failed means; only that the target refuses the node has a status of its own. */
function loginProblem(line: CommandLine, result: Ended, { attachment, chap }: Omit<Login, 'host'>): Problem {
  const said = describeFailure(line, result);
  const target = `target "${attachment.target}"`;
  if (result.status === notAuthorized) {
    const how = chap === '' ? 'without secrets' : 'with the secrets given';
    return new Problem('UNAUTHENTICATED', `${target} does not accept this node ${how}: ${said}`);
  }
  const isDoubtful = result.status === notNegotiated && provesTarget(chap);
  return new Problem('UNAVAILABLE', isDoubtful ? `${target} may not have proved itself: ${said}` : said);
}

/** Ends one session, and forgets the record that it was begun with. */
export async function logOut(session: Session, target: string, host: Host): Promise<void> {
  const args = ['--mode', 'session', '--sid', session.id, '--logout'];
  const line = { command: 'iscsiadm', args };
  requireEnded(line, await runToEnd(host, line));
  const left = await readSessions(target, host);
  if (left.some(({ id }) => id === session.id))
    throw new Problem('UNAVAILABLE', `session ${session.id} is still there after it was ended`);
}

/** Forgets how a portal is logged in to; that it was not known is fine. */
export async function forget(portal: string, target: string, host: Host): Promise<void> {
  const record = recordLine(target, portal);
  const line = { ...record, args: [...record.args, '--op', 'delete'] };
  // Without the tool nothing was ever recorded.
  requireEnded(line, await runIfInstalled(host, line));
}

function recordLine(target: string, portal: string): CommandLine {
  return { command: 'iscsiadm', args: ['--mode', 'node', '--targetname', target, '--portal', portal] };
}

/** What is not there needs no end. */
function requireEnded(line: CommandLine, result: Ended | undefined): void {
  if (result && result.status !== 0 && result.status !== nothingFound)
    throw new Problem('UNAVAILABLE', describeFailure(line, result));
}
