import { test } from 'node:test';
import { patience, whyNoCinder } from '../../cinder/cinder.ts';
import { withOwnProcesses } from '../../sandbox.ts';
import { startCeph, whyNoCeph } from '../ceph.ts';

const skip = whyNoCeph() || whyNoCinder;

test("the gateway, examples/cinder and Cinder's driver are killed in each mutation", { skip }, async t => {
  await (await startCeph(t)).runTests('cinder/inside/crash.ts', patience, withOwnProcesses);
});
