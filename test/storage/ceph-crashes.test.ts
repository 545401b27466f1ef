import { test } from 'node:test';
import { startCeph, whyNoCeph } from './ceph.ts';

void test('the backend "ceph" is killed while it drives a Ceph cluster', { skip: whyNoCeph() }, async t => {
  const ceph = await startCeph(t);
  await ceph.runTests('inside/ceph-crashes.ts');
});
