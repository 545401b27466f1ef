import type { TestContext } from 'node:test';
import type { Backend } from '../../../gateway/backend.ts';
import { createFaultyBackend, type FaultyBackend } from './faulty-backend.ts';
import {
  clusters,
  makeGateway,
  openMemory,
  volumeSpec,
  type Gateway,
  type GatewayOptions,
} from '../../harness/gateway-harness.ts';

/** A gateway over a storage that fails as it is told. */
export type FaultyGateway = Gateway & { readonly backend: FaultyBackend };

type Options = Omit<GatewayOptions, 'backend' | 'pools'> & {
  /** Volumes of cluster `a` that there are, of 1 MiB. */
  readonly names?: readonly string[];
  /** What the storage has, in bytes or in topologies. */
  readonly capacity?: Parameters<typeof openMemory>[0];
};

/** Makes one that ends with the test, with the volume `a.pvc-1` unless others are named; `calls` begin after that. */
export async function makeFaultyGateway(t: TestContext, options: Options = {}): Promise<FaultyGateway> {
  const { names = ['pvc-1'], capacity, ...rest } = options;
  const backend = createFaultyBackend(await openMemory(capacity));
  const gateway = await makeGateway(t, { backend, ...rest });
  for (const name of names) await gateway.volumes.create(clusters.a, `a.${name}`, volumeSpec(name));
  backend.calls.length = 0;
  return { ...gateway, backend };
}

/** The ids of the volumes that the storage has. */
export async function volumesIn(backend: Backend): Promise<readonly string[]> {
  return Array.fromAsync(backend.list?.() ?? []);
}

/** The ids of the snapshots that the storage has. */
export async function snapshotsIn(backend: Backend): Promise<readonly string[]> {
  return Array.fromAsync(backend.snapshots?.list?.() ?? []);
}
