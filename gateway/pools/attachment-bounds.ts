import { protocols, type Protocol, type Reach } from '../../src/api/attachment.ts';
import { toPrintable } from '../../src/api/http/printable.ts';
import { unavailableProblem } from '../../src/api/problem.ts';
import { isAtOrBelow } from '../../src/lib/linux/mountinfo.ts';
import type { AttachmentBounds, Backend } from '../backend.ts';
import { isAddress, isAmong, isHostName, isLocalAddress } from './addresses.ts';
import { wrapCalls } from './backend-proxy.ts';
import { maxOf } from '../../src/lib/numbers.ts';

/** Protocols that use the node's own things: its files, its directories, its disks, the drivers on it. */
const nodeProtocols = ['loop', 'bind', 'device', 'csi'] as const satisfies readonly Protocol[];

/** Protocols that a pool may use even if its operator does not name them. */
export const networkProtocols = protocols.filter(one => !nodeProtocols.some(other => other === one));

const defaultBounds: AttachmentBounds = { protocols: networkProtocols };

/** A pool whose storage has answered, its bounds, and the bounds of all other pools. */
type JudgedPool = {
  readonly pool: string;
  readonly bounds: AttachmentBounds | undefined;
  readonly others: readonly AttachmentBounds[];
  /** Allows loopback, unspecified and link-local addresses if the bounds have no `addresses`. */
  readonly mayBeLocal?: boolean;
};

/**
 * Wraps the backend so that no attachment leaves the bounds of its pool. `allBounds` returns the present
 * bounds of all pools.
 */
export function withinBounds(
  { name: pool, backend }: { readonly name: string; readonly backend: Backend },
  allBounds: () => ReadonlyMap<string, AttachmentBounds | undefined>,
): Backend {
  const { attachmentBounds, storageHost } = backend;
  const mayBeLocal =
    attachmentBounds !== undefined || (storageHost !== undefined && isLocalAddress(storageHost));
  return wrapCalls(backend, async ({ method }, run) => {
    const found = await run();
    if (method !== 'attach') return found;
    const all = [...allBounds()];
    const [, bounds] = all.find(([name]) => name === pool) ?? [];
    const others = all.flatMap(([name, one]) => (name === pool || !one ? [] : one));
    return requireWithin(found as Reach, { pool, bounds, others, mayBeLocal }) as typeof found;
  });
}

/**
 * Decides about an answer of a storage: returns the reach with the name of its pool, or throws UNAVAILABLE,
 * which names the value and the setting. Every reach of every backend passes here before it is signed,
 * recorded or given to a node.
 */
export function requireWithin(reach: Reach, judged: JudgedPool): Reach {
  const { pool, bounds = defaultBounds } = judged;
  const { protocol } = reach;
  const isAllowed = bounds.protocols.includes(protocol);
  const fault = isAllowed
    ? findFault(reach, { ...judged, bounds })
    : ({ found: 'as the protocol, which is not allowed', setting: 'protocols' } as const);
  if (fault)
    throw unavailableProblem(
      `pool "${pool}": its storage answered with ${protocol} ${toPrintable(fault.found, 512)}; if that is right, change "attachments.${fault.setting}" of the pool`,
    );
  return protocol === 'loop' || protocol === 'bind' ? { ...reach, pool } : reach;
}

type Fault = { readonly found: string; readonly setting: keyof AttachmentBounds };
type Limits = Omit<JudgedPool, 'bounds'> & { readonly bounds: AttachmentBounds };

function findFault(reach: Reach, limits: Limits): Fault | undefined {
  const { bounds, others } = limits;
  const { protocol } = reach;
  const rivals = others.filter(other => other.protocols.includes(protocol));
  for (const address of addressesOf(reach)) {
    const fault = judgeAddress(address, { ...limits, others: rivals });
    if (fault !== undefined) return { found: `at "${address}", which is ${fault}`, setting: 'addresses' };
  }
  const path = pathOf(reach);
  if (path !== undefined && !(isNormal(path) && isOwnPath(path, { protocol, ...limits })))
    return { found: `path "${path}", which is not below a root of this pool alone`, setting: 'roots' };
  if (reach.protocol === 'csi' && !bounds.drivers?.includes(reach.driver))
    return { found: `driver "${reach.driver}", which is not a driver of this pool`, setting: 'drivers' };
  if (protocol !== 'device' || !bounds.serials || hasSerial(reach, bounds.serials)) return undefined;
  return { found: `disk ${nameOf(reach)}, which is not a disk of this pool`, setting: 'serials' };
}

/**
 * Returns undefined for an address that the pool may name. Without `addresses`, no address may lead to
 * another pool's server unnoticed.
 */
function judgeAddress(
  address: string,
  { bounds: { addresses }, others, mayBeLocal }: Limits,
): string | undefined {
  if (addresses) return isAmong(address, addresses) ? undefined : 'not allowed';
  if (!isAddress(address)) return 'not allowed';
  const claimed = others.flatMap(other => other.addresses ?? []);
  if (isAmong(address, claimed)) return "another pool's";
  if (isLocalAddress(address)) return mayBeLocal ? undefined : "the node's own";
  return claimed.length > 0 && isHostName(address) ? "a name, and may be another pool's" : undefined;
}

/** Returns all hosts that a node would connect to. The compiler reports a protocol that is missing. */
function addressesOf(reach: Reach): readonly string[] {
  switch (reach.protocol) {
    case 'nfs':
      return [bracketed(reach.server)];
    case 'iscsi':
      return reach.portals;
    case 'nvme-tcp':
      return reach.addresses;
    case 'rbd':
    case 'cephfs':
      return reach.monitors;
    case 'loop':
    case 'bind':
    case 'device':
    case 'csi':
      return [];
  }
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

function pathOf(reach: Reach): string | undefined {
  return 'path' in reach ? reach.path : undefined;
}

/** Returns true for a path without `.`, `..`, empty parts and control characters. */
function isNormal(path: string): boolean {
  const [first, ...names] = path.split('/');
  return first === '' && (path === '/' || names.every(isName));
}

function isName(text: string): boolean {
  return !['', '.', '..'].includes(text) && !/\p{Cc}/u.test(text);
}

/**
 * Returns true when the path is below a root of this pool and below no deeper root of another pool. Without
 * roots, the path must not touch any root of other pools. One server has many names, so a root counts on
 * every server.
 */
function isOwnPath(
  path: string,
  { protocol, bounds: { roots }, others }: Pick<Limits, 'bounds' | 'others'> & Pick<Reach, 'protocol'>,
): boolean {
  const rivals = others
    .filter(other => kindsOf(protocol).some(kind => other.protocols.includes(kind)))
    .flatMap(other => other.roots ?? []);
  if (!roots) return !rivals.some(root => isAtOrBelow(path, root) || isAtOrBelow(root, path));
  const own = deepest(roots, path);
  return own >= 0 && own >= deepest(rivals, path) && !rivals.some(root => isAtOrBelow(root, path));
}

/** Returns the length of the deepest root above the path, or -1 if there is none. */
function deepest(roots: readonly string[], path: string): number {
  const holding = roots.filter(root => root !== path && isAtOrBelow(path, root));
  return maxOf(
    holding.map(root => root.length),
    -1,
  );
}

/** Returns the protocols whose paths name the same files. */
function kindsOf(protocol: Protocol): readonly Protocol[] {
  return protocol === 'loop' || protocol === 'bind' ? ['loop', 'bind'] : [protocol];
}

/** Returns true when one of the disk's identities matches. One is enough, because the node checks them all. */
function hasSerial(reach: Reach, serials: readonly string[]): boolean {
  const given = identitiesOf(reach);
  return serials.some(start => given.some(text => text.startsWith(start)));
}

function identitiesOf(reach: Reach): readonly string[] {
  if (reach.protocol !== 'device') return [];
  return [reach.wwid, reach.serial].filter(text => text !== undefined);
}

function nameOf(reach: Reach): string {
  return `"${identitiesOf(reach).join('", "')}"`;
}
