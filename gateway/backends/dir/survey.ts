import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Problem } from '../../../src/api/problem.ts';

/** What a tree holds, and what tells it from the same tree after any change. */
export type Survey = { readonly heldBytes: number; readonly digest: string };

const deadlineMs = 60 * 60_000;
/** Kind, inode, links, blocks of 512 bytes, time of the last change: numbers alone, which no name can disturb. */
const row = '%y %i %n %b %C@\\n';

/**
 * Looks at everything in a tree, follows no link, and reads no content. UNAVAILABLE when it could not see everything,
 * as when entries vanish meanwhile.
 */
export async function survey(path: string): Promise<Survey> {
  const child = spawn('find', [path, '-printf', row], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, LC_ALL: 'C' },
    timeout: deadlineMs,
    killSignal: 'SIGKILL',
  });
  const closed = once(child, 'close').then(
    ([status]) => status === 0,
    () => false,
  );
  const hash = createHash('sha256');
  const linked = new Set<string>();
  let heldBytes = 0;
  for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) {
    hash.update(`${line}\n`);
    const [kind, inode = '', links, blocks] = line.split(' ');
    // Several names of one file hold it once.
    if (linked.has(inode)) continue;
    if (kind !== 'd' && links !== '1') linked.add(inode);
    heldBytes += Number(blocks) * 512;
  }
  if (!(await closed) || !Number.isSafeInteger(heldBytes))
    throw new Problem('UNAVAILABLE', `cannot look at all of "${path}"; it may be written meanwhile`);
  return { heldBytes, digest: hash.digest('hex') };
}
