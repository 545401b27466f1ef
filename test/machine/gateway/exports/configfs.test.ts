import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { boundCalls } from '../../../../gateway/local/kernel/bounded-calls.ts';
import { openConfigTree } from '../../../../gateway/local/kernel/configfs.ts';
import { withinTime } from '../../../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { serveFuse } from '../../../harness/node/fuse.ts';

test('a kernel that fails every request leaves this process its files and its keys', async t => {
  const mount = join(temporaryDirectory(t), 'kernel');
  mkdirSync(mount);
  const fuse = await serveFuse(t, ['kernel', mount]);
  await using cleaning = new AsyncDisposableStack();
  cleaning.defer(() => void spawnSync('umount', ['--lazy', '--', mount]));
  cleaning.defer(() => fuse.end());
  await fuse.hang();
  const tree = openConfigTree(boundCalls({ maxCalls: 3, timeoutMs: 500 }));
  const paths = Array.from({ length: 8 }, (_, index) => join(mount, `${index}`));
  const outcomes = await Promise.allSettled([
    ...paths.map(path => tree.remove(path)),
    ...paths.map(path => tree.link('/', path)),
    tree.unlink(join(mount, 'link')),
    tree.writeSlowly(join(mount, 'enable'), '0'),
  ]);
  for (const outcome of outcomes)
    assert.equal(outcome.status === 'rejected' && outcome.reason.code, 'UNAVAILABLE');
  const [first = ''] = paths;
  assert.throws(() => tree.requireFree(first), { code: 'UNAVAILABLE' });
  const others = Promise.all([
    readFile('/proc/version'),
    crypto.subtle.digest('SHA-256', Buffer.from('a token')),
  ]);
  assert.ok(await withinTime(others, 60_000), 'no thread is left');
});
