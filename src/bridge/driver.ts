import { createHash } from 'node:crypto';
import { Problem, type ProblemCode } from '../api/problem.ts';
import { accessModes, type AccessMode, type Feature } from '../api/storage.ts';
import { connectCsi, type CsiClient } from '../csi/client.ts';
import { pause, startTimeLimit } from '../lib/concurrency.ts';
import type { Log } from '../lib/log.ts';
import type { BridgeConfig } from './config.ts';
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
  /** The time for one call, in milliseconds. */
  readonly timeoutMs: number;
};

/** The driver, and the bridge's own records. */
export type Bridge = { readonly driver: Driver; readonly records: Records };

type Connection = Pick<Driver, 'secrets' | 'timeoutMs'> & { readonly endpoint: string };

/** The capability of drivers whose volumes are not reachable from everywhere. */
export const topologyCapability = 'VOLUME_ACCESSIBILITY_CONSTRAINTS';

/** The time that a start waits for a controller plugin that starts at the same time, in milliseconds. */
const startTimeoutMs = 60_000;

/**
 * Connects to a controller plugin and reads its capabilities. Waits if it does not serve yet, and rejects after a minute;
 * rejects if it does not create volumes.
 */
export async function connectDriver({ endpoint, secrets, timeoutMs }: Connection, log: Log): Promise<Driver> {
  const calls = connectCsi(endpoint);
  const isOver = startTimeLimit(startTimeoutMs);
  try {
    for (let isFirst = true; ; isFirst = false) {
      const found = await readPlugin(calls, timeoutMs).catch((error: unknown) => {
        if (!isSilent(error)) throw error;
        if (isOver())
          throw new Error(
            `the driver does not answer at "${endpoint}": start its controller plugin, or correct --csi-endpoint`,
            { cause: error },
          );
      });
      if (found) return { ...found, calls, secrets, timeoutMs };
      if (isFirst) log.info(`waiting for the driver at "${endpoint}"`);
      await pause(500);
    }
  } catch (error) {
    calls.close();
    throw error;
  }
}

/** True if nothing answered a call. */
function isSilent(error: unknown): boolean {
  return error instanceof Problem && ['UNAVAILABLE', 'DEADLINE_EXCEEDED'].includes(error.code);
}

async function readPlugin(
  calls: CsiClient,
  timeoutMs: number,
): Promise<Pick<Driver, 'name' | 'version' | 'can'>> {
  const { name, vendor_version: version } = await calls.identity.GetPluginInfo({}, timeoutMs);
  const plugin = await calls.identity.GetPluginCapabilities({}, timeoutMs);
  const offered = new Set<string>(
    plugin.capabilities.flatMap(one => one.service?.type ?? one.volume_expansion?.type ?? []),
  );
  if (!offered.has('CONTROLLER_SERVICE'))
    throw new Error(
      `the driver "${name}" has no controller service; give the socket of its controller plugin`,
    );
  const controller = await calls.controller
    .ControllerGetCapabilities({}, timeoutMs)
    .catch((error: unknown) => {
      if (!(error instanceof Problem && error.code === 'UNIMPLEMENTED')) throw error;
      throw new Error(
        `the driver "${name}" does not serve its controller there; give the socket of its controller plugin, not of its node plugin`,
      );
    });
  for (const { rpc } of controller.capabilities) offered.add(rpc?.type ?? '');
  if (!offered.has('CREATE_DELETE_VOLUME'))
    throw new Error(`the driver "${name}" does not create volumes (CREATE_DELETE_VOLUME)`);
  if (offered.has('GROUP_CONTROLLER_SERVICE')) {
    const groups = await calls.groupController.GroupControllerGetCapabilities({}, timeoutMs);
    for (const { rpc } of groups.capabilities) offered.add(rpc?.type ?? '');
  }
  return { name, version, can: capability => offered.has(capability) };
}

/** The capability of CSI that a feature of the contract needs. */
const needs: Partial<Record<Feature, string>> = {
  capacity: 'GET_CAPACITY',
  expand: 'EXPAND_VOLUME',
  modify: 'MODIFY_VOLUME',
  snapshots: 'CREATE_DELETE_SNAPSHOT',
  restore: 'CREATE_DELETE_SNAPSHOT',
  clone: 'CLONE_VOLUME',
  groups: 'CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT',
  health: 'GET_VOLUME_HEALTH',
};

/** Lists the contract's features that the driver has. Each attachment needs the node's id at the driver. */
export function featuresOf({ can }: Driver, topologies: BridgeConfig['topologies']): readonly Feature[] {
  const offered = Object.entries(needs).filter(([, capability]) => can(capability));
  const groups = offered.some(([feature]) => feature === 'snapshots');
  return [
    ...offered.map(([feature]) => feature as Feature).filter(feature => feature !== 'groups' || groups),
    'nodes',
    'node-details',
    'import',
    ...(topologies ? (['topology'] as const) : []),
  ];
}

/** The access modes that only drivers with SINGLE_NODE_MULTI_WRITER tell apart. */
const fineModes = /^SINGLE_NODE_(SINGLE|MULTI)_WRITER$/;

/** Lists the access modes of the setting that the driver tells apart. */
export function accessModesOf({ can }: Driver, wanted: readonly AccessMode[]): readonly AccessMode[] {
  return accessModes.filter(
    mode =>
      wanted.includes(mode) ||
      (fineModes.test(mode) && can('SINGLE_NODE_MULTI_WRITER') && wanted.includes('SINGLE_NODE_WRITER')),
  );
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
function isUnnamed(error: unknown): boolean {
  return error instanceof Problem && [2, 13].includes(codeOf(error));
}

/** Makes a handler of failed creations: it drops the record that only an open or unnamed error keeps, and throws the error. */
export function dropIfRefused(drop: () => void): (error: unknown) => never {
  return error => {
    if (!isOpen(error) && !isUnnamed(error)) drop();
    throw error;
  };
}

/** Repeats a creation that never answered. Undefined if the driver refuses it: then it has made nothing. */
export async function unlessRefused<T>(create: () => Promise<T>): Promise<T | undefined> {
  try {
    return await create();
  } catch (error) {
    if (isOpen(error)) throw error;
    return undefined;
  }
}

function codeOf({ cause }: Problem): number {
  return Number((cause as { readonly code?: unknown } | undefined)?.code);
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
