import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { whyNoCinder } from '../cinder/cinder.ts';
import { openFleet } from '../vm/fleet/fleet.ts';
import { moveBetweenNodes, type Stage } from '../vm/fleet/scenarios.ts';
import { whyNoMachine } from '../vm/packages.ts';
import { startBox } from './box.ts';
import { startCeph, whyNoCeph } from './ceph.ts';

const pool = 'cinder';
const skip = whyNoCeph() || whyNoCinder || (whyNoMachine() ?? false);

test("two nodes on separate machines use volumes of OpenStack's Cinder, without Nova", { skip }, async t => {
  const stage = await open(t);
  await t.test('the other node reads the data of the first, and a snapshot taken meanwhile is restored', () =>
    moveBetweenNodes(stage, pool, 2 ** 30),
  );
  await t.test('nothing is left once everything is deleted', () => clear(stage));
});

/** Opens Cinder on a cluster, a gateway beside it, and two nodes that share only the cluster's network. */
async function open(t: TestContext): Promise<Stage> {
  const ceph = await startCeph(t);
  const fleet = openFleet(t, 0);
  const [{ box }, one, two] = await Promise.all([
    startBox(t, ceph, 'inside/cinder-box.ts'),
    fleet.startNode(1, ceph.network),
    fleet.startNode(2, ceph.network),
  ]);
  const keys = await box.ask('keys');
  const ids = await Promise.all([one, two].map(node => node.ask<string>('start', keys)));
  for (const id of ids) await box.ask('putNode', id, { name: id.slice(0, 20), addresses: ['192.168.78.2'] });
  return { box, nodes: [one, two], ids: [ids[0] ?? '', ids[1] ?? ''] };
}

async function clear({ box }: Stage): Promise<void> {
  await box.ask('delete', `moves-${pool}-restored`);
  await box.ask('deleteSnapshot', `moves-${pool}-snapshot`);
  await box.ask('delete', `moves-${pool}`);
  assert.deepEqual(await box.ask('images'), []);
}
