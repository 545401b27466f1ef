import { normalize } from 'node:path/posix';
import type { Attachment, Protocol } from '../../src/api/attachment.ts';
import { preconditionProblem } from '../../src/api/problem.ts';
import { isAtOrBelow } from '../../src/lib/linux/mountinfo.ts';
import { connectorFor } from '../connectors/index.ts';
import type { Host } from '../host.ts';
import type { GatewayKeys, openGatewayKeys } from '../state/gateway-keys.ts';

/** What this node takes of whoever writes an attachment. Its directories have no symbolic links in them. */
export type Trust = {
  readonly protocols: readonly Protocol[];
  /** Where the files and directories of this machine lie that a volume may be. */
  readonly roots: readonly string[];
  /** What no volume may be, hold or lie in, whatever the roots are. */
  readonly never: readonly string[];
  /** Whoever signed an attachment must have one of these keys; absent: none need be signed. */
  readonly gatewayKeys?: GatewayKeys | undefined;
};

/** Directories of the system, of kubelet and of what runs containers, wherever this agent's own ones are. */
const systemDirectories =
  `/bin /boot /dev /etc /lib /lib32 /lib64 /proc /run /sbin /sys /usr /var/log /var/run /var/spool
   /var/lib/containerd /var/lib/docker /var/lib/etcd /var/lib/kubelet /var/lib/rancher`.split(/\s+/);

/** What an operator set, and the directories that are the agent's and kubelet's; `/` for kubelet's says nothing. */
type TrustSettings = Pick<Trust, 'protocols' | 'roots'> & {
  readonly own: readonly string[];
  readonly gatewayKeysFiles?: Parameters<typeof openGatewayKeys>[0] | undefined;
};

/** Reads which directories these are; throws for a root that can hold no volume. */
export async function openTrust(
  { protocols, roots, own, gatewayKeysFiles }: TrustSettings,
  host: Host,
): Promise<Trust> {
  const real = (paths: readonly string[]) => Promise.all(paths.map(path => realOrNamed(path, host)));
  // By both names: behind a link such as that of /var/lib/docker lies what no volume may be.
  const resolved = [...(await real(systemDirectories)), ...(await real(own))].filter(path => path !== '/');
  const never = [...new Set([...systemDirectories, ...resolved])];
  const gatewayKeys = gatewayKeysFiles === undefined ? undefined : await openKeys(gatewayKeysFiles, host);
  const trust = { protocols, roots: await real(roots), never, gatewayKeys };
  for (const root of trust.roots)
    if (root === '/' || never.some(path => isAtOrBelow(root, path)))
      throw new Error(`local root "${root}" is a directory of the system, of kubelet or of the agent`);
  return trust;
}

/** Why no volume over a protocol is taken here; undefined when some may be. */
export function whyRefused({ protocols, roots }: Trust, protocol: Protocol): string | undefined {
  if (!protocols.includes(protocol)) return 'it is not among the --protocols of this node';
  if (connectorFor({ protocol }).isLocal === true && roots.length === 0)
    return 'this node has no --local-roots';
  return undefined;
}

/**
 * FAILED_PRECONDITION for an attachment that this node does not take. A path of this machine is judged as it is written:
 * its connector refuses what it finds there unless that has this very path, and so no symbolic link in it.
 */
export function requireTrusted(trust: Trust, attachment: Attachment): void {
  const { protocol } = attachment;
  const reason = whyRefused(trust, protocol);
  if (reason !== undefined) throw preconditionProblem(`protocol "${protocol}" is refused: ${reason}`);
  if (connectorFor(attachment).isLocal !== true || !('path' in attachment)) return;
  const { path } = attachment;
  if (isBelowRoot(trust, path)) return;
  throw preconditionProblem(`${protocol} path "${path}" does not lie below the --local-roots of this node`);
}

/** True for a path below a root, as the kernel writes it, that has nothing to do with what is never a volume's. */
export function isBelowRoot({ roots, never }: Trust, path: string): boolean {
  return (
    normalize(path) === path &&
    !path.endsWith('/') &&
    roots.some(root => path !== root && isAtOrBelow(path, root)) &&
    !never.some(other => isAtOrBelow(path, other) || isAtOrBelow(other, path))
  );
}

/** Loaded only where it is asked for: the agent is to cost little. */
async function openKeys(...opening: Parameters<typeof openGatewayKeys>): Promise<GatewayKeys> {
  return (await import('../state/gateway-keys.ts')).openGatewayKeys(...opening);
}

/** A directory that is not there yet has the name that it was given. */
async function realOrNamed(path: string, host: Host): Promise<string> {
  try {
    return await host.realPath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return path;
    throw error;
  }
}
