import { describe, test } from 'node:test';
import { testBackend } from '../../../suites/backend.ts';
import { testBackendMembers } from '../../../suites/backend-members.ts';
import { openPool, poolFilesystems, whyNoPool } from './image-pool.ts';

const roomBytes = 4 * 2 ** 30;

for (const filesystem of poolFilesystems) {
  const skip = whyNoPool(filesystem);
  if (skip !== undefined) test(`the image backend on ${filesystem}`, { skip }, () => {});
  else
    describe(`the image backend on ${filesystem}`, () => {
      testBackend(
        async t => (await openPool(t, filesystem, { capacityBytes: roomBytes })).backend,
        roomBytes,
      );
      testBackendMembers(t => openPool(t, filesystem, { capacityBytes: roomBytes }));
    });
}
