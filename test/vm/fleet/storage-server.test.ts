import { test } from 'node:test';
import { buildDebianPackage } from '../../../deploy/release/debian-package.ts';
import { buildPackage } from '../../../deploy/release/package.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { runInMachine } from '../guests.ts';
import { whyNoMachine } from '../packages.ts';

const skip = whyNoMachine();

test('the guide that makes a storage server', skip === undefined ? {} : { skip }, async t => {
  const out = temporaryDirectory(t);
  const debianPackage = buildDebianPackage(await buildPackage(out), out);
  await runInMachine(t, ['test/vm/guest/storage-server.guest.ts'], {
    env: { DEBIAN_PACKAGE: debianPackage },
  });
});
