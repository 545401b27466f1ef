import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { isProblemThat } from '../../../harness/gateway-problems.ts';
import { testBackend } from '../../../suites/backend.ts';
import { makeVolume, testBackendMembers } from '../../../suites/backend-members.ts';
import { connectLoop, disconnectLoop, openPool, poolFilesystems, whyNoPool } from './image-pool.ts';

for (const filesystem of poolFilesystems)
  describe(`the image backend on ${filesystem}`, { skip: whyNoPool(filesystem) ?? false }, () => {
    testBackend(async t => (await openPool(t, filesystem)).backend);
    testBackendMembers(t => openPool(t, filesystem));
  });

test('a volume that a loop device has open is neither detached nor deleted', async t => {
  const skip = whyNoPool('ext4');
  if (skip !== undefined) return t.skip(skip);
  const { backend, directory } = await openPool(t, 'ext4');
  const volume = await makeVolume(backend);
  const device = connectLoop(join(directory, 'a.volume.img'));
  const names = isProblemThat('FAILED_PRECONDITION', new RegExp(`"a\\.volume" is still in use by ${device}`));
  await assert.rejects(backend.detach(volume, 'n1'), names);
  await assert.rejects(backend.delete(volume), names);
  assert.ok(readdirSync(directory).includes('a.volume.img'));
  disconnectLoop(device);
  await backend.detach(volume, 'n1');
  await backend.delete(volume);
});
