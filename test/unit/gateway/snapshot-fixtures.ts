import type { TestContext } from 'node:test';
import { createFaultyBackend, type FaultyBackend } from './faulty-backend.ts';
import {
  clusters,
  makeGateway,
  openMemory,
  volumeSpec,
  type Gateway,
} from '../../harness/gateway-harness.ts';

/** The volume that there is. */
export const volumeId = 'a.pvc-1';
/** A snapshot of it. */
export const id = 'a.snap-1';
/** What is asked of the snapshot. */
export const spec = { name: 'snap-1', volumeId };

/** A gateway with the volume, over a storage that fails as it is told. */
export async function makeFaulty(t: TestContext): Promise<Gateway & { readonly backend: FaultyBackend }> {
  const backend = createFaultyBackend(await openMemory());
  const gateway = await makeGateway(t, { backend });
  await gateway.volumes.create(clusters.a, volumeId, volumeSpec('pvc-1'));
  return { ...gateway, backend };
}

/** The snapshots that the storage has. */
export async function snapshotsIn(backend: FaultyBackend): Promise<readonly string[]> {
  return Array.fromAsync(backend.snapshots?.list?.() ?? []);
}
