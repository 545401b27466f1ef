import { test } from 'node:test';
import { startCeph, whyNoCeph } from './ceph.ts';

void test("Ceph is a storage vendor, by its dashboard's API", { skip: whyNoCeph() }, async t => {
  const ceph = await startCeph(t);
  await ceph.runTests('inside/ceph-vendor.ts');
});
