import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import { stackOf } from '../harness/temporary.ts';
import type { Servant } from '../vm/fleet/fleet.ts';
import { startServant } from '../vm/fleet/process.ts';
import type { Ceph } from './ceph.ts';

/**
 * Starts a gateway in the network of the storage, as a process that ends with the test, and names the directory of its
 * files.
 */
export async function startBox(
  t: TestContext,
  { inside, env }: Pick<Ceph, 'inside' | 'env'>,
  file: string,
): Promise<{ readonly box: Servant; readonly root: string }> {
  const root = makeTemporaryDirectory();
  const stack = stackOf(t);
  stack.defer(() => removeTemporaryDirectory(root));
  const path = fileURLToPath(new URL(file, import.meta.url));
  const box = await startServant(inside, [path, root], env);
  stack.defer(() => box.end());
  return { box, root };
}
