import type { Protocol } from '../../src/api/attachment.ts';
import { asProblem } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import { surveyProtocols, type ProtocolState } from '../connectors/index.ts';
import type { Host } from '../host.ts';
import { findReason, isInstalled } from '../host/prerequisites.ts';

/** What this node can attach; it is found out when it is first asked for, once, and again after a failure. */
export type Survey = ReturnType<typeof createSurvey>;

/** A survey that nobody has asked for yet; `whyRefused` says why the node takes a protocol in no case. */
export function createSurvey(host: Host, whyRefused: (protocol: Protocol) => string | undefined) {
  let known: readonly ProtocolState[] = [];
  let asked: Promise<readonly ProtocolState[]> | undefined;
  const look = async (): Promise<readonly ProtocolState[]> => {
    try {
      const states = await surveyProtocols(remembering(host));
      known = states.map(({ protocol, reason }) => ({ protocol, reason: whyRefused(protocol) ?? reason }));
      return known;
    } catch (error) {
      asked = undefined;
      throw error;
    }
  };
  return {
    /** Empty until it was found out. */
    get known() {
      return known;
    },
    ask: () => (asked ??= look()),
  };
}

/** Several protocols ask for the same long lists of modules, and each list is read once. */
function remembering(host: Host): Host {
  const texts = new Map<string, Promise<string | undefined>>();
  const readText = (path: string): Promise<string | undefined> => {
    const text = texts.get(path) ?? host.readText(path);
    texts.set(path, text);
    return text;
  };
  return { ...host, readText };
}

/** What every volume may need, beside what belongs to one protocol or filesystem. */
const baseTools = ['mount', 'umount', 'blkid', 'blockdev', 'losetup', 'cmp', 'dd', 'stat'];
/** What a volume needs that is encrypted; the second one comes with the first in most distributions. */
const encryptionNeeds = [{ tool: 'cryptsetup', module: 'dm_crypt' }, { tool: 'dmsetup' }];
/** Its bit in the capabilities of a process (linux/capability.h). */
const sysAdminBit = 21n;
type Reporting = { readonly host: Host; readonly survey: Survey; readonly log: Log };

/** Logs in one line what this node can attach and encrypt and what it cannot, and warns of what no volume can do without. */
export async function report({ host, survey, log }: Reporting): Promise<void> {
  try {
    await warnOfLacks(host, log);
    const states = await survey.ask();
    const usable = states.filter(({ reason }) => reason === undefined).map(({ protocol }) => protocol);
    const missing = states.flatMap(({ protocol, reason }) =>
      reason === undefined ? [] : [`${protocol} is not: ${reason}`],
    );
    const lack = (await Promise.all(encryptionNeeds.map(needs => findReason(needs, host)))).find(Boolean);
    const encryption =
      lack === undefined ? 'volumes can be encrypted' : `no volume can be encrypted: ${lack}`;
    const detail = [`usable: ${usable.join(', ') || 'none'}`, ...missing, encryption].join('; ');
    log.info('looked at what attach protocols need', { detail });
  } catch (error) {
    log.warn('what attach protocols need could not be looked at', { detail: asProblem(error).detail });
  }
}

async function warnOfLacks(host: Host, log: Log): Promise<void> {
  const installed = await Promise.all(baseTools.map(tool => isInstalled(tool, host)));
  const missing = baseTools.filter((_, index) => !installed[index]);
  if (missing.length > 0)
    log.warn('tools are not installed that volumes need', { detail: missing.join(', ') });
  const status = (await host.readText('/proc/self/status')) ?? '';
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (effective !== undefined && ((BigInt(`0x${effective}`) >> sysAdminBit) & 1n) === 0n)
    log.warn(
      'the agent lacks CAP_SYS_ADMIN, without which it can mount nothing: its container must be privileged',
    );
}
