import type { TestContext } from 'node:test';
import type { Backend } from '../../../gateway/backend.ts';
import { createFaultyBackend, type FaultyBackend } from './faulty-backend.ts';
import {
  clusters,
  makeGateway,
  openMemory,
  volumeSpec,
  type Gateway,
} from '../../harness/gateway-harness.ts';

type Options = {
  /** Volumes of cluster `a` that there are, of 1 MiB. */
  readonly names?: readonly string[];
  /** What the storage has, in bytes or in topologies. */
  readonly capacity?: Parameters<typeof openMemory>[0];
};

/** Makes one over a storage that fails as a test wants, with the volume `a.pvc-1` unless others are named; `calls` begin after that. */
export async function makeFaultyGateway(
  t: TestContext,
  { names = ['pvc-1'], capacity }: Options = {},
): Promise<Gateway<FaultyBackend>> {
  const gateway = await makeGateway(t, { backend: createFaultyBackend(await openMemory(capacity)) });
  for (const name of names) await gateway.volumes.create(clusters.a, `a.${name}`, volumeSpec(name));
  gateway.backend.calls.length = 0;
  return gateway;
}

/** The ids of the volumes that the storage has. */
export async function volumesIn(backend: Backend): Promise<readonly string[]> {
  return Array.fromAsync(backend.list?.() ?? []);
}

/** The ids of the snapshots that the storage has. */
export async function snapshotsIn(backend: Backend): Promise<readonly string[]> {
  return Array.fromAsync(backend.snapshots?.list?.() ?? []);
}
