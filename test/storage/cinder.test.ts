import { test } from 'node:test';
import { whyNoCinder } from '../cinder/cinder.ts';
import { startCeph, whyNoCeph } from './ceph.ts';

const skip = whyNoCeph() || whyNoCinder;

test("the kit finds nothing in examples/cinder over OpenStack's Cinder on Ceph", { skip }, async t => {
  await (await startCeph(t)).runTests('inside/cinder-kit.ts');
});
