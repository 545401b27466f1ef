import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../../harness/machine.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';
import { contentOf, makeVolume, type OfferedBackend } from '../../../suites/backend-fixtures.ts';
import { testBackend } from '../../../suites/backend.ts';
import { testDirectoryCopies } from '../../../suites/directories/copies.ts';
import { mountPool, MiB, whyNoPool } from './image-pool.ts';

/** Opens a pool on a btrfs of its own; everything is removed when the test ends. */
async function open(t: TestContext) {
  const temporary = realpathSync(makeTemporaryDirectory());
  const opened: { close?(): Promise<void> }[] = [];
  t.after(async () => {
    for (const backend of opened) await backend.close?.();
    removeTemporaryDirectory(temporary);
  });
  const root = mkdtempSync(join(mountPool(temporary, 'btrfs', 320 * MiB), 'shares-'));
  const reopen = async () => {
    await opened.pop()?.close?.();
    // The space of a btrfs that statfs shows changes a little.
    const backend = await openPlugin(backends.dir, { dir: root, capacity: 2 ** 40 });
    opened.push(backend);
    return backend as OfferedBackend['backend'];
  };
  return { backend: await reopen(), root, reopen, content: contentOf(id => join(root, id, 'data')) };
}

/** Lists all subvolumes of the pool's filesystem but that of the root. */
function subvolumesOf(root: string): readonly string[] {
  const listing = execFileSync('btrfs', ['subvolume', 'list', root], { encoding: 'utf8' });
  return listing.split('\n').flatMap(line => / path (.+)$/.exec(line)?.[1] ?? []);
}

describe('the contract of a backend, with copies of directories', { skip: whyNoPool.btrfs }, () => {
  testBackend(open);
});

describe('copies of directories', () => {
  testDirectoryCopies(open, { skip: whyNoPool.btrfs });
});

const options = { skip: whyNoPool.btrfs };

test('an interrupted copy leaves nothing after the next start', options, async t => {
  const { backend, root, reopen } = await open(t);
  const volume = await makeVolume(backend);
  mkdirSync(join(root, '.drafts'));
  execFileSync('btrfs', [
    'subvolume',
    'snapshot',
    '-r',
    join(root, volume.id),
    join(root, '.drafts', 'left'),
  ]);
  const again = await reopen();
  assert.deepEqual(readdirSync(join(root, '.drafts')), []);
  await again.delete(volume);
  assert.deepEqual(subvolumesOf(root), []);
});

test('a deleted volume with a subvolume in it is removed', options, async t => {
  const { backend, root } = await open(t);
  const volume = await makeVolume(backend);
  execFileSync('btrfs', ['subvolume', 'create', join(root, volume.id, 'inner')]);
  writeFileSync(join(root, volume.id, 'inner', 'file'), 'data');
  await backend.delete(volume);
  assert.deepEqual(subvolumesOf(root), []);
});

test(
  'on another filesystem volumes have no snapshots, and the check says so',
  { skip: whyNoPool.xfs },
  async t => {
    const temporary = realpathSync(makeTemporaryDirectory());
    t.after(() => removeTemporaryDirectory(temporary));
    const root = mountPool(temporary, 'xfs', 320 * MiB);
    const backend = await openPlugin(backends.dir, { dir: root });
    t.after(() => backend.close?.());
    assert.deepEqual([backend.snapshots, backend.sources], [undefined, undefined]);
    const missing = (await backends.dir.missingFeatures?.({ dir: root })) ?? [];
    assert.match(missing.join(), /no snapshots and no clones/);
  },
);
