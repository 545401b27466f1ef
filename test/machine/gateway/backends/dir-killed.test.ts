import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeVolume } from '../../../suites/member-fixtures.ts';
import { makeRoot, openAt } from './dir-root.ts';
import { fillTree, manifestOf } from './dir-tree.ts';
import { poolFilesystems, whyNoPool } from './image-pool.ts';

const kills = 6;
const maker = join(import.meta.dirname, 'dir-maker.ts');

for (const filesystem of poolFilesystems)
  test(
    `copies of the dir backend on ${filesystem} that are killed at any moment are whole or not there, and made by the next try`,
    {
      skip: whyNoPool(filesystem) ?? false,
    },
    async t => {
      const root = makeRoot(t, filesystem);
      await makeVolume(await openAt(root), { id: 'a.source' });
      const path = join(root, 'a.source');
      fillTree(path, '/');
      for (let index = 0; index < 150; index++) {
        mkdirSync(join(path, `many-${index}`));
        writeFileSync(join(path, `many-${index}`, 'file'), `content ${index}`.repeat(index));
      }
      const wanted = manifestOf(path);
      const wholeMs = await run(root);
      for (let kill = 1; kill <= kills; kill++) {
        await remove(root);
        await run(root, (wholeMs * kill) / kills);
        for (const copy of [join(root, '.snapshots/a.cut/tree'), join(root, 'a.clone')])
          if (existsSync(copy)) assert.deepEqual(manifestOf(copy), wanted, copy);
        await run(root);
        assert.deepEqual(manifestOf(join(root, 'a.clone')), wanted);
      }
      await remove(root);
      for (const folder of ['.drafts', '.trash', '.snapshots'])
        assert.deepEqual(readdirSync(join(root, folder)), []);
      assert.deepEqual(readdirSync(join(root, '.sizes')).toSorted(), ['.changes', 'a.source']);
    },
  );

async function remove(root: string): Promise<void> {
  const backend = await openAt(root);
  await backend.delete({ id: 'a.clone' });
  await backend.snapshots?.delete({ id: 'a.cut' });
}

/** Runs the maker to its end, or kills it after so long; tells how long it took, in milliseconds. */
async function run(root: string, killAfterMs?: number): Promise<number> {
  const startMs = performance.now();
  const child = fork(maker, [root], { stdio: 'inherit' });
  const exit = once(child, 'exit');
  if (killAfterMs !== undefined) {
    await Promise.race([exit, sleep(killAfterMs)]);
    child.kill('SIGKILL');
  }
  const [status] = (await exit) as [number | null];
  if (killAfterMs === undefined) assert.equal(status, 0);
  return performance.now() - startMs;
}
