import assert from 'node:assert/strict';
import type { Attachment } from '../../src/api/attachment.ts';
import type { MachineServant, Servant } from '../vm/fleet/fleet.ts';
import { until, type Stage } from '../vm/fleet/scenarios.ts';

const MiB = 2 ** 20;
const capability = { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' };
const name = 'shared';

/**
 * Mounts one share on both nodes: each reads the other's data, writes beyond the quota are refused, and a snapshot is
 * restored.
 */
export async function shareBetweenNodes(stage: Stage, pool: string): Promise<void> {
  const { box, nodes, ids } = stage;
  const [one, two] = nodes;
  await box.ask('create', name, pool, { requiredBytes: 16 * MiB, capabilities: [capability] });
  for (const [index, node] of nodes.entries()) await bringUp(box, node, { name, nodeId: ids[index] ?? '' });
  await write(one, 'first', 'of one');
  assert.equal(await read(two, 'first'), 'of one\n');
  await write(two, 'second', 'of two');
  assert.equal(await read(one, 'second'), 'of two\n');
  await fill(one);
  await box.ask('snapshot', `${name}-snapshot`, name);
  await write(one, 'first', 'later');
  const source = { kind: 'snapshot', snapshotId: `c.${name}-snapshot` };
  const restored = `${name}-restored`;
  const spec = { requiredBytes: 16 * MiB, capabilities: [capability], source };
  await box.ask('create', restored, pool, spec);
  await bringUp(box, two, { name: restored, nodeId: ids[1] });
  assert.equal(await read(two, 'first', restored), 'of one\n');
  assert.equal(await read(two, 'first'), 'later\n');
  await takeAway(box, two, { name: restored, nodeId: ids[1] });
}

/** Fails if a key is in a file, an argument or a log of its node while both nodes have the share. */
export async function hideKeys({ box, nodes }: Stage): Promise<void> {
  const keys = await box.ask<readonly string[]>('secrets');
  assert.equal(keys.length, nodes.length);
  for (const node of nodes)
    for (const key of keys) {
      assert.deepEqual(await node.ask('whereIs', key.trim()), []);
      assert.ok(!(await node.ask<string>('run', 'dmesg', [])).includes(key.trim()));
    }
}

/** Detaches a node that writes to a share without pause; the other node has the share and sees no further writes. */
export async function cutOffShare({ box, nodes: [one, two], ids }: Stage): Promise<void> {
  await one.ask('writeFile', name);
  await until(async () => (await one.ask<WriteProgress>('written', name)).written > 10);
  await box.ask('detach', name, ids[0]);
  const before = await read(two, 'lines');
  assert.ok(before.split('\n').length > 10);
  await until(async () => (await one.ask<WriteProgress>('written', name)).fault !== '');
  await one.ask('takeDown', name);
  assert.equal(await read(two, 'lines'), before);
  await takeAway(box, two, { name, nodeId: ids[1] });
  await bringUp(box, two, { name, nodeId: ids[1] });
  assert.equal(await read(two, 'lines'), before);
}

type WriteProgress = { readonly written: number; readonly fault: string };

/** Fails if a node with read-only access can write, even as root of its machine. */
export async function refuseWriting({ box, nodes: [one, two], ids }: Stage): Promise<void> {
  await bringUp(box, one, { name, nodeId: ids[0], use: 'share to read' });
  assert.equal(await read(one, 'first'), 'later\n');
  await assert.rejects(write(one, 'forced', 'bytes'));
  const path = await one.ask<string>('pathOf', name);
  const force = 'mount -o remount,rw "$0"; echo bytes >"$0/forced"';
  await assert.rejects(one.ask('run', 'sh', ['-c', force, path]));
  const there = await two.ask<string>('pathOf', name);
  assert.doesNotMatch(await two.ask<string>('run', 'ls', [there]), /forced/);
  await takeAway(box, one, { name, nodeId: ids[0] });
  await takeAway(box, two, { name, nodeId: ids[1] });
  assert.deepEqual(await box.ask('left'), []);
  for (const node of [one, two]) assert.deepEqual(await node.ask('connectionsLeft'), []);
}

type Use = { readonly name: string; readonly nodeId: string; readonly use?: 'share' | 'share to read' };

async function bringUp(box: Servant, node: Servant, { name: volume, nodeId, use = 'share' }: Use) {
  const attachment = await box.ask<Attachment>('attach', volume, nodeId, use);
  await node.ask('bringUp', volume, attachment, use);
}

async function takeAway(box: Servant, node: Servant, { name: volume, nodeId }: Use): Promise<void> {
  await node.ask('takeDown', volume);
  await box.ask('detach', volume, nodeId);
}

/** Writes a file; its data is durable when this returns. */
async function write(node: MachineServant, file: string, text: string): Promise<void> {
  const path = await node.ask<string>('pathOf', name);
  await node.ask('run', 'sh', ['-ec', 'echo "$2" >"$0/$1"; sync "$0/$1"', path, file, text]);
}

async function read(node: MachineServant, file: string, volume = name): Promise<string> {
  return node.ask<string>('run', 'cat', [`${await node.ask<string>('pathOf', volume)}/${file}`]);
}

/** Writes until the quota is reached; a client learns of that with a delay. */
async function fill(node: MachineServant): Promise<void> {
  const path = await node.ask<string>('pathOf', name);
  const line = 'dd if=/dev/zero of="$0/large" bs=1M count=4 oflag=append conv=notrunc,fsync 2>&1 || true';
  let said = '';
  for (let round = 0; round < 40 && !said.includes('Disk quota exceeded'); round++)
    said = await node.ask<string>('run', 'sh', ['-c', line, path]);
  assert.match(said, /Disk quota exceeded/);
  await node.ask('run', 'rm', [`${path}/large`]);
}
