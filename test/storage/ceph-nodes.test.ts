import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openFleet, type Servant } from '../vm/fleet/fleet.ts';
import { cutOff, moveBetweenNodes, type Stage } from '../vm/fleet/scenarios.ts';
import { whyNoMachine } from '../vm/packages.ts';
import { startBox } from './box.ts';
import { startCeph, whyNoCeph, type Ceph } from './ceph.ts';
import { cutOffShare, hideKeys, refuseWriting, shareBetweenNodes } from './share-scenarios.ts';

const pool = 'ceph';
const MiB = 2 ** 20;
const skip = whyNoCeph() || (whyNoMachine() ?? false);

test('two nodes on separate machines use the images and shares of a Ceph cluster', { skip }, async t => {
  const stage = await open(t, await startCeph(t));
  await t.test('no write of a node that is shut out lands after the answer', () => cutOff(stage, { pool }));
  await t.test('no write lands of a node that was paused meanwhile and then continues', () =>
    cutOff(stage, { pool, isPaused: true }),
  );
  await t.test('the other node reads the data of the first, and a snapshot taken meanwhile is restored', () =>
    moveBetweenNodes(stage, pool),
  );
  await t.test('the key of an attachment is in no file or argument of its node', () => hide(stage));
  await t.test('thirty cycles leave no user, key, watcher or device', () => cycle(stage));
  await t.test('two nodes share a filesystem, and its snapshot is restored', () =>
    shareBetweenNodes(stage, 'files'),
  );
  await t.test('the keys of a share are in no file, argument or log of its nodes', () => hideKeys(stage));
  await t.test('no write to a share lands after the answer when its node is shut out', () =>
    cutOffShare(stage),
  );
  await t.test('a node with read-only access to a share writes nothing', () => refuseWriting(stage));
  await t.test('nothing is left once everything is deleted', () => clear(stage));
});

/** Opens a cluster, a gateway beside it, and two nodes that share only its network. */
async function open(t: TestContext, ceph: Ceph): Promise<Stage> {
  const fleet = openFleet(t, 0);
  const [{ box }, one, two] = await Promise.all([
    startBox(t, ceph, 'inside/box.ts'),
    fleet.startNode(1, ceph.network),
    fleet.startNode(2, ceph.network),
  ]);
  const keys = await box.ask('keys');
  const ids = await Promise.all([one, two].map(node => node.ask<string>('start', keys)));
  for (const id of ids) await box.ask('putNode', id);
  return { box, nodes: [one, two], ids: [ids[0] ?? '', ids[1] ?? ''] };
}

async function hide({ box, nodes: [node], ids: [id] }: Stage): Promise<void> {
  await node.ask('bringUp', 'fenced-ceph', await box.ask('attach', 'fenced-ceph', id, 'block'), 'block');
  const keys = await box.ask<readonly string[]>('secrets');
  assert.equal(keys.length, 1);
  assert.deepEqual(await node.ask('whereIs', keys[0]), []);
  await node.ask('takeDown', 'fenced-ceph');
  await box.ask('detach', 'fenced-ceph', id);
}

async function clear({ box }: Stage): Promise<void> {
  const volumes = [
    'fenced-ceph',
    'paused-ceph',
    'moves-ceph-restored',
    'moves-ceph',
    'shared-restored',
    'shared',
  ];
  for (const name of volumes) await box.ask('delete', name);
  for (const name of ['moves-ceph', 'shared']) await box.ask('deleteSnapshot', `${name}-snapshot`);
  await box.ask('requireNothingLeft');
}

/** Uses volumes on both nodes at the same time. */
async function cycle({ box, nodes, ids }: Stage): Promise<void> {
  const use = async (node: Servant, index: number): Promise<void> => {
    for (let count = 0; count < 15; count++) {
      const name = `cycle-${index}`;
      await box.ask('create', name, pool, { requiredBytes: MiB });
      await node.ask('bringUp', name, await box.ask('attach', name, ids[index], 'block'), 'block');
      await node.ask('takeDown', name);
      await box.ask('detach', name, ids[index]);
      await box.ask('delete', name);
    }
  };
  await Promise.all(nodes.map(use));
  assert.deepEqual(await box.ask('left'), []);
  for (const node of nodes) assert.deepEqual(await node.ask('connectionsLeft'), []);
}
