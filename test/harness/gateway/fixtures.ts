import type { TestContext } from 'node:test';
import type { Backend, NewVolume } from '../../../gateway/backend.ts';
import { createFaultyBackend, type FaultyBackend } from '../../fakes/faulty-backend.ts';
import { clusters, makeGateway, mounted, openMemory, volumeSpec, type Gateway } from './gateway.ts';

type Options = {
  /** The existing volumes of cluster `a`, of 1 MiB each. */
  readonly names?: readonly string[];
  /** Volumes that only the storage knows. */
  readonly orphans?: readonly string[];
  /** The storage's capacity, in bytes or in topologies. */
  readonly capacity?: Parameters<typeof openMemory>[0];
  readonly keepDeletedMs?: number;
};

/** An hour in milliseconds. */
export const hour = 3_600_000;

/**
 * Makes a gateway over a storage that fails as a test wants, by default with the volume `a.pvc-1`; `calls` start after
 * that.
 */
export async function makeFaultyGateway(
  t: TestContext,
  { names = ['pvc-1'], orphans = [], capacity, keepDeletedMs = 0 }: Options = {},
): Promise<Gateway<FaultyBackend>> {
  const backend = createFaultyBackend(await openMemory(capacity));
  const gateway = await makeGateway(t, { backend, keepDeletedMs });
  for (const name of names) await create(gateway, name);
  for (const id of orphans) await backend.create(newVolume(id));
  backend.calls.length = 0;
  return gateway;
}

/** Makes a backend's request for a volume. */
export function newVolume(id: string): NewVolume {
  return { id, nonce: id, requiredBytes: 2 ** 20, limitBytes: 0, parameters: {}, capabilities: [mounted] };
}

/** Creates a volume of cluster `a` with this many MiB. */
export function create({ volumes }: Gateway, name: string, size = 1): Promise<unknown> {
  return volumes.create(clusters.a, `a.${name}`, volumeSpec(name, { requiredBytes: size * 2 ** 20 }));
}

/** Creates a snapshot of a volume of cluster `a`. */
export function snapshot({ snapshots }: Gateway, name: string, of: string): Promise<unknown> {
  return snapshots.create(clusters.a, `a.${name}`, { name, volumeId: `a.${of}` });
}

/** Attaches a volume of cluster `a` to the node `n1` for writing. */
export function attach({ attachments }: Gateway, volumeId: string) {
  return attachments.attach(keyOf(volumeId), { capability: mounted, readonly: false });
}

/** Returns the key of a volume of cluster `a` at the node `n1`, which the cluster may name without a report. */
export function keyOf(volumeId: string) {
  return { cluster: { ...clusters.a, acceptAnyNode: true }, volumeId, nodeId: 'n1' };
}

/** Lists the ids of the storage's volumes, in order. */
export async function volumesIn(backend: Backend): Promise<readonly string[]> {
  return (await Array.fromAsync(backend.list?.() ?? [])).toSorted();
}

/** Lists the ids of the storage's snapshots. */
export async function snapshotsIn(backend: Backend): Promise<readonly string[]> {
  return Array.fromAsync(backend.snapshots?.list?.() ?? []);
}
