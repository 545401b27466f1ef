import { test } from 'node:test';
import { startCeph, whyNoCeph } from './ceph.ts';

void test('the backend "ceph" drives a filesystem of a Ceph cluster', { skip: whyNoCeph() }, async t => {
  const ceph = await startCeph(t);
  for (const file of ['ceph-shares.ts', 'share-crashes.ts']) await ceph.runTests(`inside/${file}`);
});
