import { normalize } from 'node:path/posix';
import type { Attachment, Protocol } from '../../src/api/attachment.ts';
import { preconditionProblem } from '../../src/api/problem.ts';
import { isAtOrBelow } from '../../src/lib/linux/mountinfo.ts';
import { connectorFor } from '../connectors/index.ts';
import type { Host } from '../host.ts';
import type { GatewayKeys, openGatewayKeys } from '../state/gateway-keys.ts';
import { maxOf } from '../../src/lib/numbers.ts';

/** A directory of this machine that holds volumes of one pool only. */
type PoolRoot = { readonly pool: string; readonly path: string };

/** The attachments that this node accepts. Its directories are free of symbolic links. */
export type Trust = {
  readonly protocols: readonly Protocol[];
  /** Directories below which a file or directory may be a volume of any pool. */
  readonly roots: readonly string[];
  readonly poolRoots?: readonly PoolRoot[];
  /** Paths that no volume may be, contain or lie in, even below a root. */
  readonly never: readonly string[];
  /** The sockets of other drivers' node plugins, by the names of the drivers. */
  readonly drivers: ReadonlyMap<string, string>;
  /** An attachment must be signed with one of these keys; if absent, attachments need no signature. */
  readonly gatewayKeys?: GatewayKeys | undefined;
};

/** Directories of the system, of kubelet and of container runtimes. */
const systemDirectories =
  `/bin /boot /dev /etc /lib /lib32 /lib64 /proc /run /sbin /sys /usr /var/log /var/run /var/spool
   /var/lib/containerd /var/lib/docker /var/lib/etcd /var/lib/kubelet /var/lib/rancher`.split(/\s+/);

/** An operator's settings; `own` lists the directories of the agent and of kubelet. A kubelet directory of `/` is ignored. */
type TrustSettings = Pick<Trust, 'protocols' | 'roots' | 'poolRoots'> & {
  readonly drivers?: Trust['drivers'];
  readonly own: readonly string[];
  readonly gatewayKeysFiles?: Parameters<typeof openGatewayKeys>[0] | undefined;
};

/** Resolves the directories of the settings; throws for a root that can hold no volume. */
export async function openTrust(
  { protocols, roots, poolRoots = [], drivers = new Map(), own, gatewayKeysFiles }: TrustSettings,
  host: Host,
): Promise<Trust> {
  const real = (paths: readonly string[]) => Promise.all(paths.map(path => realOrNamed(path, host)));
  // Both the link and its target are forbidden, since a directory such as /var/lib/docker may be a symbolic link.
  const resolved = [...(await real(systemDirectories)), ...(await real(own))].filter(path => path !== '/');
  const never = [...new Set([...systemDirectories, ...resolved])];
  const gatewayKeys = gatewayKeysFiles === undefined ? undefined : await openKeys(gatewayKeysFiles, host);
  const realPoolRoot = async ({ pool, path }: PoolRoot) => ({ pool, path: await realOrNamed(path, host) });
  const realPoolRoots = await Promise.all(poolRoots.map(realPoolRoot));
  const trust = {
    protocols,
    roots: await real(roots),
    poolRoots: realPoolRoots,
    drivers,
    never,
    gatewayKeys,
  };
  for (const root of pathsOf(trust))
    if (root === '/' || never.some(path => isAtOrBelow(root, path)))
      throw new Error(
        `local root "${root}" is a directory of the system, of kubelet or of the agent; choose another one`,
      );
  return trust;
}

/** Says why this node refuses every volume over a protocol; undefined if it accepts some. */
export function refusalReason(trust: Trust, protocol: Protocol): string | undefined {
  if (!trust.protocols.includes(protocol)) return 'it is not among the --protocols of this node';
  if (protocol === 'csi' && trust.drivers.size === 0) return 'this node has no --csi-drivers';
  if (isLocal(protocol) && pathsOf(trust).length === 0) return 'this node has no --local-roots';
  return undefined;
}

/**
 * FAILED_PRECONDITION for an attachment that this node does not accept. A local path is compared as written: its connector
 * later refuses a path that has a symbolic link in it.
 */
export function requireTrusted(trust: Trust, attachment: Attachment): void {
  const { protocol } = attachment;
  const reason = refusalReason(trust, protocol);
  if (reason !== undefined) throw preconditionProblem(`protocol "${protocol}" is refused: ${reason}`);
  if (attachment.protocol === 'csi' && !trust.drivers.has(attachment.driver))
    throw preconditionProblem(`driver "${attachment.driver}" is not among the --csi-drivers of this node`);
  if (!isLocal(protocol) || !('path' in attachment)) return;
  const { path } = attachment;
  const pool = 'pool' in attachment ? attachment.pool : undefined;
  if (!isBelowRoot(trust, path))
    throw preconditionProblem(`${protocol} path "${path}" does not lie below the --local-roots of this node`);
  if (isOtherPools(trust, path, pool))
    throw preconditionProblem(
      pool === undefined
        ? `${protocol} path "${path}" lies in a directory that --local-roots of this node has for one pool, and the attachment names no pool; attach the volume again`
        : `${protocol} path "${path}" lies in a directory that --local-roots of this node has for another pool than "${pool}"`,
    );
}

/** True for a normalized path below a root that neither contains nor lies in a forbidden path. */
export function isBelowRoot(trust: Trust, path: string): boolean {
  return (
    normalize(path) === path &&
    !path.endsWith('/') &&
    pathsOf(trust).some(root => path !== root && isAtOrBelow(path, root)) &&
    !trust.never.some(other => isAtOrBelow(path, other) || isAtOrBelow(other, path))
  );
}

/**
 * True for a path in or above a root of another pool, unless it lies in a root of this pool that is at least as deep. If the
 * attachment names no pool, every pool root counts as another pool's.
 */
function isOtherPools({ poolRoots = [] }: Trust, path: string, pool: string | undefined): boolean {
  const others = poolRoots.filter(root => root.pool !== pool);
  if (others.some(root => isAtOrBelow(root.path, path))) return true;
  const depthIn = (roots: readonly PoolRoot[]): number =>
    maxOf(
      roots.filter(root => isAtOrBelow(path, root.path)).map(root => root.path.length),
      -1,
    );
  return depthIn(others) > depthIn(poolRoots.filter(root => root.pool === pool));
}

function isLocal(protocol: Protocol): boolean {
  return protocol !== 'csi' && connectorFor({ protocol }).isLocal === true;
}

function pathsOf({ roots, poolRoots = [] }: Pick<Trust, 'roots' | 'poolRoots'>): readonly string[] {
  return [...roots, ...poolRoots.map(({ path }) => path)];
}

/** Opens the keys; loads their module only if keys are set, to keep the agent small. */
async function openKeys(...opening: Parameters<typeof openGatewayKeys>): Promise<GatewayKeys> {
  return (await import('../state/gateway-keys.ts')).openGatewayKeys(...opening);
}

/** Resolves a directory's symbolic links; a directory that does not exist yet keeps its given path. */
async function realOrNamed(path: string, host: Host): Promise<string> {
  try {
    return await host.realPath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return path;
    throw error;
  }
}
