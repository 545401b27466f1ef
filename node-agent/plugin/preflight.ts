import type { Protocol } from '../../src/api/attachment.ts';
import { asProblem } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import { surveyProtocols, type ProtocolState } from '../connectors/index.ts';
import type { Host } from '../host.ts';
import { findReason, isInstalled } from '../host/prerequisites.ts';

/** A survey of the attach protocols that work on this node. It runs once, at the first request, and again after a failure. */
export type Survey = ReturnType<typeof createSurvey>;

/** Creates a survey that has not run yet; `refusalReason` says why the node's settings refuse a protocol. */
export function createSurvey(host: Host, refusalReason: (protocol: Protocol) => string | undefined) {
  let known: readonly ProtocolState[] = [];
  let survey: Promise<readonly ProtocolState[]> | undefined;
  const look = async (): Promise<readonly ProtocolState[]> => {
    try {
      const states = await surveyProtocols(withCachedReads(host));
      known = states.map(({ protocol, reason }) => ({ protocol, reason: refusalReason(protocol) ?? reason }));
      return known;
    } catch (error) {
      survey = undefined;
      throw error;
    }
  };
  return {
    /** The last result; empty until the survey has run. */
    get known() {
      return known;
    },
    ask: () => (survey ??= look()),
  };
}

/** Wraps a host so that it reads each file once: several protocols look at the same long lists of modules. */
function withCachedReads(host: Host): Host {
  const texts = new Map<string, Promise<string | undefined>>();
  const readText = (path: string): Promise<string | undefined> => {
    const text = texts.get(path) ?? host.readText(path);
    texts.set(path, text);
    return text;
  };
  return { ...host, readText };
}

/** The tools that volumes of every protocol and filesystem may need. */
const baseTools = 'mount umount blkid blockdev losetup fsfreeze unshare xargs cmp dd stat'.split(' ');
const encryptionNeeds = [{ tool: 'cryptsetup', module: 'dm_crypt' }, { tool: 'dmsetup' }];
/** The bit of CAP_SYS_ADMIN in the capabilities of a process (linux/capability.h). */
const sysAdminBit = 21n;
type ReportContext = { readonly host: Host; readonly survey: Survey; readonly log: Log };

/** Logs in one line which protocols work and whether volumes can be encrypted; warns of missing general requirements. */
export async function report({ host, survey, log }: ReportContext): Promise<void> {
  try {
    await warnOfMissing(host, log);
    const states = await survey.ask();
    const usable = states.filter(({ reason }) => reason === undefined).map(({ protocol }) => protocol);
    const missing = states.flatMap(({ protocol, reason }) =>
      reason === undefined ? [] : [`${protocol} is not: ${reason}`],
    );
    const lack = (await Promise.all(encryptionNeeds.map(needs => findReason(needs, host)))).find(Boolean);
    const encryption =
      lack === undefined ? 'volumes can be encrypted' : `no volume can be encrypted: ${lack}`;
    const detail = [`usable: ${usable.join(', ') || 'none'}`, ...missing, encryption].join('; ');
    log.info('checked the requirements of attach protocols', { detail });
  } catch (error) {
    log.warn('cannot check the requirements of attach protocols', { detail: asProblem(error).detail });
  }
}

async function warnOfMissing(host: Host, log: Log): Promise<void> {
  const installed = await Promise.all(baseTools.map(tool => isInstalled(tool, host)));
  const missing = baseTools.filter((_, index) => !installed[index]);
  if (missing.length > 0)
    log.warn('tools that volumes need are not installed; install them', { detail: missing.join(', ') });
  const status = (await host.readText('/proc/self/status')) ?? '';
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (effective !== undefined && ((BigInt(`0x${effective}`) >> sysAdminBit) & 1n) === 0n)
    log.warn('the agent lacks CAP_SYS_ADMIN and cannot mount volumes: run its container privileged');
}
