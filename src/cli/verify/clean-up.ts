import type { Kit } from './kit/kit.ts';
import type { Removal } from './kit/ledger.ts';

/** Removes all that is noted, as far as it can; the rest is set aside for the end of the run. */
export async function cleanUp(kit: Kit): Promise<void> {
  // What one refuses because another needs it goes in the second pass.
  for (const _ of [1, 2])
    for (const removal of kit.ledger.removals()) if (await remove(kit, removal)) kit.ledger.forget(removal);
  for (const removal of kit.ledger.removals()) kit.ledger.setAside(removal);
}

/** True when it is gone, or the vendor has no such thing. */
async function remove(kit: Kit, { operation, input }: Removal): Promise<boolean> {
  try {
    const { code } = await kit.settle(operation, input as never);
    return code === undefined || code === 'UNIMPLEMENTED' || code === 'NOT_FOUND';
  } catch {
    return false;
  }
}
