import type { Kit } from './fixtures/kit.ts';
import type { Removal } from './http/ledger.ts';

/** Removes everything that the ledger has noted. Resources that cannot be removed are set aside for the end of the run. */
export async function cleanUp(kit: Kit): Promise<void> {
  // The second pass removes resources that others needed in the first, such as a snapshot with a clone.
  for (const _ of [1, 2])
    for (const removal of kit.ledger.removals()) if (await remove(kit, removal)) kit.ledger.forget(removal);
  for (const removal of kit.ledger.removals()) kit.ledger.setAside(removal);
}

/** Returns true when the resource is gone, or when the vendor does not know it. */
async function remove(kit: Kit, { operation, input }: Removal): Promise<boolean> {
  try {
    const { code } = await kit.settle(operation, input as never);
    return code === undefined || code === 'UNIMPLEMENTED' || code === 'NOT_FOUND';
  } catch {
    return false;
  }
}
