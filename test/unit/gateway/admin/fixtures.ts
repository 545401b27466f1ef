import type { TestContext } from 'node:test';
import type { NewVolume } from '../../../../gateway/backend.ts';
import {
  clusters,
  makeGateway,
  mounted,
  volumeSpec,
  type Gateway,
  type GatewayOptions,
} from '../../../harness/gateway-harness.ts';
import type { FaultyBackend } from '../faulty-backend.ts';

/** An hour in milliseconds. */
export const hour = 3_600_000;

/** A volume as a backend is asked to make it. */
export function newVolume(id: string): NewVolume {
  return { id, requiredBytes: 2 ** 20, limitBytes: 0, parameters: {}, capabilities: [mounted] };
}

/** Creates a volume of cluster a. */
export function create({ volumes }: Gateway, name: string): Promise<unknown> {
  return volumes.create(clusters.a, `a.${name}`, volumeSpec(name));
}

/** Creates a snapshot of a volume of cluster a. */
export function snapshot({ snapshots }: Gateway, name: string, of: string): Promise<unknown> {
  return snapshots.create(clusters.a, `a.${name}`, { name, volumeId: `a.${of}` });
}

/** A gateway with these volumes of cluster a, and others that only its storage knows. */
export async function openWith(
  t: TestContext,
  { names = [], orphans = [] }: { readonly names?: readonly string[]; readonly orphans?: readonly string[] },
  options: GatewayOptions<FaultyBackend> = {},
): Promise<Gateway<FaultyBackend>> {
  const gateway = await makeGateway(t, options);
  for (const name of names) await create(gateway, name);
  for (const id of orphans) await gateway.backend.create(newVolume(id));
  return gateway;
}

/** The ids of the volumes that the storage has. */
export async function stored({ backend }: Gateway): Promise<readonly string[]> {
  return (await Array.fromAsync(backend.list?.() ?? [])).toSorted();
}
