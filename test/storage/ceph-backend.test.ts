import { test } from 'node:test';
import { startCeph, whyNoCeph } from './ceph.ts';

void test('the backend "ceph" drives a Ceph cluster', { skip: whyNoCeph() }, async t => {
  const ceph = await startCeph(t);
  for (const file of ['ceph-check.ts', 'ceph-backend.ts', 'ceph-fencing.ts'])
    await ceph.runTests(`inside/${file}`);
});
