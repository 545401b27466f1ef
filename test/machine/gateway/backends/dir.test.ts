import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { backends } from '../../../../gateway/backends/index.ts';
import { directoryOf, noRoot } from '../../../harness/machine.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';
import { newVolume } from '../../../suites/backend-fixtures.ts';

test('a volume that is mounted completely or in part, or that contains a mount, is not deleted', async t => {
  if (noRoot !== false) return t.skip(noRoot);
  const directory = realpathSync(directoryOf(t));
  const [root, other] = [join(directory, 'root'), join(directory, 'other')];
  for (const path of [root, other]) mkdirSync(path);
  const backend = await openPlugin(backends.dir, { dir: root });
  t.after(() => backend.close?.());
  for (const id of ['a.volume', 'a.volume2']) await backend.create(newVolume({ id }));
  const volume = join(root, 'a.volume');
  mkdirSync(join(volume, 'inner'));
  const rows = [
    { source: volume, target: other },
    { source: join(volume, 'inner'), target: other },
    { source: other, target: join(volume, 'inner') },
  ];
  for (const { source, target } of rows) {
    execFileSync('mount', ['--bind', '--', source, target]);
    try {
      await assert.rejects(backend.delete({ id: 'a.volume' }), { code: 'FAILED_PRECONDITION' });
      await backend.delete({ id: 'a.volume2' });
    } finally {
      execFileSync('umount', ['--', target]);
    }
    assert.deepEqual(readdirSync(volume), ['inner']);
  }
  await backend.delete({ id: 'a.volume' });
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), []);
});
