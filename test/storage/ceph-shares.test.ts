import { test } from 'node:test';
import { startCeph, whyNoCeph } from './ceph.ts';

void test('the backend "ceph" drives a filesystem of a Ceph cluster', { skip: whyNoCeph() }, async t => {
  const ceph = await startCeph(t);
  await ceph.runTests('inside/ceph-shares.ts');
});
