import { test } from 'node:test';
import { whyNoEmber } from '../../ember/ember.ts';
import { startCeph, whyNoCeph } from '../ceph.ts';

const skip = whyNoCeph() || whyNoEmber;

test('the kit finds nothing in a bridge over ember-csi, a driver of images on Ceph', { skip }, async t => {
  await (await startCeph(t)).runTests('ember/kit.ts');
});
