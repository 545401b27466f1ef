import { test } from 'node:test';
import { patience, whyNoCinder } from '../../cinder/cinder.ts';
import { startCeph, whyNoCeph } from '../ceph.ts';

const skip = whyNoCeph() || whyNoCinder;

test('a random history of a pool over Cinder survives kills of examples/cinder', { skip }, async t => {
  await (await startCeph(t)).runTests('cinder/inside/model.ts', patience);
});
