import { createHash } from 'node:crypto';
import { Problem, problemTable, type ProblemCode } from '../api/problem.ts';
import { connectCsi, type CsiClient } from '../csi/client.ts';
import { poll } from '../lib/concurrency.ts';
import type { Log } from '../lib/log.ts';
import type { Offer } from '../sdk/server/vendor.ts';
import type { Records } from './records.ts';
import type { Secrets } from './secrets.ts';

/** An existing CSI driver: its controller plugin, the calls that it offers, and the secrets that they need. */
export type Driver = {
  readonly name: string;
  readonly version: string;
  readonly calls: CsiClient;
  /** True if the driver offers a capability, by the name that CSI gives it. */
  readonly can: (capability: string) => boolean;
  readonly secrets: Secrets;
};

/** The driver, and the bridge's own records. */
export type Bridge = {
  readonly driver: Driver;
  readonly records: Records;
  /** The limits of sizes. The bridge keeps them itself, since some drivers check no sizes or round them differently. */
  readonly limits: Offer['limits'];
};

type Connection = Pick<Driver, 'secrets'> & { readonly socketPath: string; readonly timeoutMs: number };

/** The capability of drivers whose volumes are not reachable from everywhere. */
export const topologyCapability = 'VOLUME_ACCESSIBILITY_CONSTRAINTS';

/**
 * Connects to a controller plugin and reads its capabilities. Waits for one that does not serve yet, as long as for one call;
 * rejects if it does not create volumes.
 */
export async function connectDriver(
  { socketPath, secrets, timeoutMs }: Connection,
  log: Log,
): Promise<Driver> {
  const calls = connectCsi(`unix://${socketPath}`, timeoutMs);
  let silence: unknown;
  const read = () =>
    readPlugin(calls).catch((error: unknown) => {
      if (!isSilent(error)) throw error;
      if (!silence) log.info(`waiting for the driver at "${socketPath}"`);
      silence = error;
      return undefined;
    });
  try {
    const found = await poll(read, { everyMs: 500, timeoutMs });
    if (found) return { ...found, calls, secrets };
    throw new Error(
      `the driver does not answer at "${socketPath}": start its controller plugin, or correct --csi-endpoint`,
      { cause: silence },
    );
  } catch (error) {
    calls.close();
    throw error;
  }
}

/** True if the driver does not serve, or does not answer yet. */
function isSilent(error: unknown): boolean {
  return error instanceof Problem && ['UNAVAILABLE', 'DEADLINE_EXCEEDED'].includes(error.code);
}

async function readPlugin({ identity, controller, groupController }: CsiClient) {
  const { name, vendor_version: version } = await identity.GetPluginInfo({});
  const plugin = await identity.GetPluginCapabilities({});
  const offered = new Set<string>(
    plugin.capabilities.flatMap(one => one.service?.type ?? one.volume_expansion?.type ?? []),
  );
  if (!offered.has('CONTROLLER_SERVICE'))
    throw new Error(
      `the driver "${name}" has no controller service; give the socket of its controller plugin`,
    );
  const { capabilities } = await controller.ControllerGetCapabilities({}).catch((error: unknown) => {
    if (!(error instanceof Problem && error.code === 'UNIMPLEMENTED')) throw error;
    throw new Error(
      `the driver "${name}" does not serve its controller there; give the socket of its controller plugin, not of its node plugin`,
    );
  });
  for (const { rpc } of capabilities) offered.add(rpc?.type ?? '');
  if (!offered.has('CREATE_DELETE_VOLUME'))
    throw new Error(`the driver "${name}" does not create volumes (CREATE_DELETE_VOLUME)`);
  if (offered.has('GROUP_CONTROLLER_SERVICE')) {
    const groups = await groupController.GroupControllerGetCapabilities({});
    for (const { rpc } of groups.capabilities) offered.add(rpc?.type ?? '');
  }
  return { name, version, can: (capability: string) => offered.has(capability) };
}

/**
 * Makes the name of a resource at the driver: always the same for an id, and of the form that the sidecars of Kubernetes
 * give, since drivers are tested with no other.
 */
export function nameFor(kind: 'pvc' | 'snapshot' | 'groupsnapshot', id: string): string {
  const digest = createHash('sha256').update(id).digest('hex');
  return `${kind}-${digest.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')}`;
}

/** The codes of gRPC after which the work may still be done; external-provisioner takes the same ones so. */
const open: ReadonlySet<number> = new Set([1, 4, 10, 14]);

/** True if the driver may still do the work, or may have done it. */
export function isOpen(error: unknown): boolean {
  return !(error instanceof Problem) || open.has(codeOf(error));
}

/** True if the driver failed for a reason that it did not name; some drivers do so before and some after their work. */
export function isUnnamed(error: unknown): boolean {
  return error instanceof Problem && [2, 13].includes(codeOf(error));
}

/** The driver's own code, or the problem's if the bridge itself refused the driver's answer. */
function codeOf({ code, cause }: Problem): number {
  const own = (cause as { readonly code?: unknown } | undefined)?.code;
  return typeof own === 'number' ? own : problemTable[code].grpc;
}

/**
 * Makes an error of the driver an answer of the contract. A code that the operation does not document is UNAVAILABLE, and so is
 * INTERNAL, which for the contract means that nothing is left.
 */
export function toDocumented(error: unknown, documented: readonly ProblemCode[]): unknown {
  if (!(error instanceof Problem)) return error;
  const { code, detail } = error;
  if (documented.includes(code) && code !== 'UNAUTHENTICATED' && code !== 'INTERNAL') return error;
  return new Problem('UNAVAILABLE', `the driver answered ${code}: ${detail}`, error);
}

/** True for the driver's NOT_FOUND. */
export function isMissing(error: unknown): boolean {
  return error instanceof Problem && error.code === 'NOT_FOUND';
}
