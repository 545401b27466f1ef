import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { Problem } from '../../../src/api/problem.ts';
import { describeFailure, runToEnd, runWell } from '../../commands.ts';
import type { CommandLine } from '../../filesystem.ts';
import type { Host } from '../../host.ts';
import { readSessions, type Session } from './sessions.ts';

/** iscsiadm's status for "session is logged in" and "no records found" (iscsiadm(8)). */
const sessionExists = 15;
const nothingFound = 21;

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

/** Logs in to every portal that has no session yet; returns those that are up, and throws when none is. */
export async function logIn(attachment: AttachmentOf<'iscsi'>, host: Host): Promise<readonly Session[]> {
  const { target, portals } = attachment;
  const before = await readSessions(target, host);
  const missing = portals.filter(portal => !before.some(session => session.portal === portal));
  const results = await Promise.allSettled(missing.map(portal => logInTo(portal, attachment, host)));
  const isUp = ({ portal, isUp: up }: Session) => up && portals.includes(portal);
  const sessions = (await readSessions(target, host)).filter(isUp);
  const failed = results.find(result => result.status === 'rejected');
  if (failed && (sessions.length === 0 || !(failed.reason instanceof Problem))) throw failed.reason;
  if (sessions.length === 0)
    throw new Problem('UNAVAILABLE', `no session with target "${target}" is up; iscsid tries on`);
  return sessions;
}

async function logInTo(portal: string, attachment: AttachmentOf<'iscsi'>, host: Host): Promise<void> {
  const record = recordLine(attachment.target, portal);
  await runWell(host, { ...record, args: [...record.args, '--op', 'new'] });
  const settings = Object.entries(settingsFor(attachment)).flatMap(([name, value]) => {
    const pair: readonly string[] = ['--name', name, '--value', value];
    return pair;
  });
  await runWell(host, { ...record, args: [...record.args, '--op', 'update', ...settings] });
  await runUnless(sessionExists, { ...record, args: [...record.args, '--login'] }, host);
}

/** Ends one session, and forgets the record that it was begun with. */
export async function logOut(session: Session, target: string, host: Host): Promise<void> {
  const args = ['--mode', 'session', '--sid', session.id, '--logout'];
  await runUnless(nothingFound, { command: 'iscsiadm', args }, host);
  const left = await readSessions(target, host);
  if (left.some(({ id }) => id === session.id))
    throw new Problem('UNAVAILABLE', `session ${session.id} is still there after it was ended`);
}

/** Forgets how a portal is logged in to; that it was not known is fine. */
export async function forget(portal: string, target: string, host: Host): Promise<void> {
  const record = recordLine(target, portal);
  await runUnless(nothingFound, { ...record, args: [...record.args, '--op', 'delete'] }, host);
}

function recordLine(target: string, portal: string): CommandLine {
  return { command: 'iscsiadm', args: ['--mode', 'node', '--targetname', target, '--portal', portal] };
}

async function runUnless(expected: number, line: CommandLine, host: Host): Promise<void> {
  const result = await runToEnd(host, line);
  if (result.status !== 0 && result.status !== expected)
    throw new Problem('UNAVAILABLE', describeFailure(line, result));
}
