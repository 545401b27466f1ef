import assert from 'node:assert/strict';
import type { Backend } from '../../../gateway/backend.ts';
import type { Engine } from '../../../gateway/store.ts';
import { recountReservations } from '../../../gateway/tables/reservations.ts';
import type { FaultyBackend, Method } from '../../fakes/faulty-backend.ts';
import { endClaims, type Gateway } from '../gateway.ts';

/** An hour in milliseconds. */
export const hour = 3_600_000;

/** Lists the ids of the storage's volumes, in order. */
export async function volumesIn(backend: Backend): Promise<readonly string[]> {
  return (await Array.fromAsync(backend.list?.() ?? [])).toSorted();
}

/** Lists the ids of the storage's snapshots. */
export async function snapshotsIn(backend: Backend): Promise<readonly string[]> {
  return Array.fromAsync(backend.snapshots?.list?.() ?? []);
}

/**
 * Returns a function that begins work of the gateway and pauses it in the storage past its claim's end. The work is
 * ABORTED once it may continue.
 */
export function stopperOf(gateway: Gateway<FaultyBackend>) {
  return async (method: Method, begin: () => Promise<unknown>): Promise<() => Promise<void>> => {
    const resume = gateway.backend.hold(method);
    const ended = assert.rejects(begin(), { code: 'ABORTED' });
    await gateway.backend.entered(method);
    await endClaims(gateway);
    return async () => {
      resume();
      await ended;
    };
  };
}

/** Fails unless the sums of the reservations agree with the records. */
export async function assertCounted(engine: Engine): Promise<void> {
  const used =
    'select * from reservations where bytes <> 0 or volumes <> 0 or snapshots <> 0 or deleted_bytes <> 0 or deleted_volumes <> 0';
  const sums = () => engine.reader.all(`${used} order by pool, segments, cluster, part`);
  const counted = await sums();
  await engine.transaction(recountReservations);
  assert.deepEqual(counted, await sums());
}
