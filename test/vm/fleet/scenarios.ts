import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attachment } from '../../../src/api/attachment.ts';
import type { MachineServant, Servant } from './fleet.ts';

const MiB = 2 ** 20;

/** A gateway with its storage, and two nodes with their ids, each a separate machine or process. */
export type Stage = {
  box: Servant;
  readonly nodes: readonly [MachineServant, MachineServant];
  readonly ids: readonly [string, string];
};

/**
 * Writes on one node, and doubles the volume's size and takes a snapshot meanwhile; then reads everything on the other
 * node, and the snapshot's content.
 */
export async function moveBetweenNodes(
  { box, nodes: [one, two], ids }: Stage,
  pool: string,
  sizeBytes = 64 * MiB,
): Promise<void> {
  const name = `moves-${pool}`;
  const grown = 2 * sizeBytes;
  await box.ask('create', name, pool, { requiredBytes: sizeBytes });
  const attachment = await box.ask<Attachment>('attach', name, ids[0], 'mount');
  assert.ok(attachment.signature);
  assert.equal(attachment.sealed !== undefined, ['iscsi', 'ceph', 'cinder'].includes(pool));
  await one.ask('bringUp', name, attachment);
  await one.ask('writeFile', name);
  await until(async () => (await writtenOf(one, name)) > 10);
  await box.ask('expand', name, grown);
  await one.ask('expand', name, grown);
  const before = await writtenOf(one, name);
  await box.ask('snapshot', `${name}-snapshot`, name);
  await until(async () => (await writtenOf(one, name)) > before + 10);
  await one.ask('stopWriting', name);
  const path = await one.ask<string>('pathOf', name);
  await one.ask('run', 'sh', ['-ec', 'head -c 20M /dev/urandom > "$0/bytes"; sync', path]);
  const sum = await one.ask<string>('run', 'sh', ['-ec', 'cd "$0"; sha256sum bytes lines', path]);
  await one.ask('takeDown', name);
  await box.ask('detach', name, ids[0]);

  await two.ask('bringUp', name, await box.ask('attach', name, ids[1], 'mount'));
  const there = await two.ask<string>('pathOf', name);
  assert.equal(await two.ask('run', 'sh', ['-ec', 'cd "$0"; sha256sum bytes lines', there]), sum);
  const free = await two.ask<string>('run', 'df', ['--output=size', '--block-size=1M', there]);
  assert.ok(Number(free.split('\n')[1]) > (0.75 * grown) / MiB, free);
  await two.ask('takeDown', name);
  await box.ask('detach', name, ids[1]);

  const source = { kind: 'snapshot', snapshotId: `c.${name}-snapshot` };
  await box.ask('create', `${name}-restored`, pool, { requiredBytes: grown, source });
  await two.ask('bringUp', `${name}-restored`, await box.ask('attach', `${name}-restored`, ids[1], 'mount'));
  assert.ok((await two.ask<number>('linesOf', `${name}-restored`)) >= before);
  await two.ask('takeDown', `${name}-restored`);
  await box.ask('detach', `${name}-restored`, ids[1]);
  await requireNothingLeft({ box, nodes: [one, two] });
}

/**
 * Reads a snapshot of a volume in use as a backup program does: on another node, through a volume for readers, which is
 * deleted afterwards, as the snapshot is.
 */
export async function backUp({ box, nodes: [one, two], ids }: Stage, pool: string): Promise<void> {
  const name = `backed-up-${pool}`;
  const [snapshot, copy] = [`${name}-snapshot`, `${name}-copy`];
  await box.ask('create', name, pool, { requiredBytes: 64 * MiB });
  await one.ask('bringUp', name, await box.ask('attach', name, ids[0], 'mount'));
  await one.ask('writeFile', name);
  await until(async () => (await writtenOf(one, name)) > 10);
  const durable = await writtenOf(one, name);
  await box.ask('snapshot', snapshot, name);
  const capabilities = [{ accessType: 'mount', accessMode: 'MULTI_NODE_READER_ONLY' }];
  const source = { kind: 'snapshot', snapshotId: `c.${snapshot}` };
  await box.ask('create', copy, pool, { requiredBytes: 64 * MiB, capabilities, source });
  await two.ask('bringUp', copy, await box.ask('attach', copy, ids[1], 'mount to read'), 'mount to read');
  assert.ok((await two.ask<number>('linesOf', copy)) >= durable);
  const path = await two.ask<string>('pathOf', copy);
  await assert.rejects(two.ask('run', 'sh', ['-ec', ': > "$0/new"', path]), /Read-only file system/);
  await two.ask('takeDown', copy);
  await box.ask('detach', copy, ids[1]);
  await box.ask('delete', copy);
  await box.ask('deleteSnapshot', snapshot);
  const before = await writtenOf(one, name);
  await until(async () => (await writtenOf(one, name)) > before + 10);
  await one.ask('stopWriting', name);
  await one.ask('takeDown', name);
  await box.ask('detach', name, ids[0]);
  await requireNothingLeft({ box, nodes: [one, two] });
}

/** Fails unless the volume's file frees the blocks that a pod deletes and trims. */
export async function freeBlocks({ box, nodes: [node], ids: [id] }: Stage, pool: string): Promise<void> {
  const name = `trimmed-${pool}`;
  await box.ask('create', name, pool, { requiredBytes: 64 * MiB });
  await node.ask('bringUp', name, await box.ask('attach', name, id, 'mount'));
  const path = await node.ask<string>('pathOf', name);
  await node.ask('run', 'sh', ['-ec', 'head -c 20M /dev/urandom > "$0/bytes"; sync', path]);
  const full = await box.ask<number>('allocated', name, pool);
  await node.ask('run', 'sh', ['-ec', 'rm "$0/bytes"; sync; fstrim "$0"', path]);
  assert.ok((await box.ask<number>('allocated', name, pool)) < full - 15 * MiB);
  await node.ask('takeDown', name);
  await box.ask('detach', name, id);
}

/**
 * Fails unless two nodes that share a raw volume read each other's data, and one continues when the other is detached.
 */
export async function shareRaw({ box, nodes, ids }: Stage, pool: string): Promise<void> {
  const name = `shared-${pool}`;
  const capability = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' };
  await box.ask('create', name, pool, { requiredBytes: 8 * MiB, capabilities: [capability] });
  const users: { readonly node: Servant; readonly path: string }[] = [];
  for (const [index, node] of nodes.entries()) {
    const attachment = await box.ask('attach', name, ids[index], 'shared block');
    await node.ask('bringUp', name, attachment, 'shared block');
    users.push({ node, path: await node.ask<string>('pathOf', name) });
  }
  const [one, two] = users;
  assert.ok(one && two);
  const write = 'printf %4096s "$1" | dd of="$0" bs=4096 oflag=direct iflag=fullblock status=none';
  const read = 'dd if="$0" bs=4096 count=1 iflag=direct status=none';
  for (const [writer, reader] of [
    [one, two],
    [two, one],
    [one, two],
  ] as const) {
    const text = crypto.randomUUID();
    await writer.node.ask('run', 'sh', ['-ec', write, writer.path, text]);
    assert.equal((await reader.node.ask<string>('run', 'sh', ['-ec', read, reader.path])).trim(), text);
  }
  await one.node.ask('takeDown', name);
  await box.ask('detach', name, ids[0]);
  await two.node.ask('run', 'sh', ['-ec', write, two.path, 'still here']);
  assert.equal((await two.node.ask<string>('run', 'sh', ['-ec', read, two.path])).trim(), 'still here');
  await two.node.ask('takeDown', name);
  await box.ask('detach', name, ids[1]);
  await requireNothingLeft({ box, nodes });
}

/** Brings up two raw volumes at once and takes them down again, each on alternating nodes, `count` times in all. */
export async function cycle({ box, nodes, ids }: Stage, pool: string, count: number): Promise<void> {
  const repeat = async (first: number): Promise<void> => {
    const name = `again-${pool}-${first}`;
    await box.ask('create', name, pool, { requiredBytes: 8 * MiB });
    for (let round = first; round < first + count / 2; round++) {
      const [node, id] = round % 2 === 0 ? [nodes[0], ids[0]] : [nodes[1], ids[1]];
      await node.ask('bringUp', name, await box.ask('attach', name, id, 'block'), 'block');
      await node.ask('takeDown', name);
      await box.ask('detach', name, id);
    }
  };
  await Promise.all([repeat(0), repeat(1)]);
}

/** Fails if the gateway's machine or a node has a resource of an attachment left. */
export async function requireNothingLeft({ box, nodes }: Pick<Stage, 'box' | 'nodes'>): Promise<void> {
  assert.deepEqual(await box.ask('left'), []);
  for (const node of nodes) assert.deepEqual(await node.ask('connectionsLeft'), []);
}

type CutOff = { readonly pool: string; readonly isPaused?: boolean };

/**
 * Detaches a node that writes without pause, or is paused meanwhile, and fails if a write of it lands after the answer.
 */
export async function cutOff(
  { box, nodes: [one, two], ids }: Stage,
  { pool, isPaused = false }: CutOff,
): Promise<void> {
  const name = `${isPaused ? 'paused' : 'fenced'}-${pool}`;
  await startWriting({ box, one, ids }, pool, name);
  await one.ask('waitForTargets', 4);
  if (isPaused) await one.pause();
  await box.ask('detach', name, ids[0]);
  const content = await box.ask('hash', name, pool);
  await two.ask('bringUp', name, await box.ask('attach', name, ids[1], 'block'), 'block');
  if (isPaused) await one.resume();
  await one.ask('giveUpSoon');
  assert.deepEqual(await one.ask('rawEnd', name), [7, null]);
  assert.equal(await box.ask('hash', name, pool), content);
  await clear({ box, nodes: [one, two], ids }, name);
}

type WritingNode = Pick<Stage, 'box' | 'ids'> & { readonly one: Servant };

/** Returns once the first node writes to the volume without pause. */
async function startWriting({ box, one, ids }: WritingNode, pool: string, name: string): Promise<void> {
  await box.ask('create', name, pool, { requiredBytes: 8 * MiB });
  await one.ask('bringUp', name, await box.ask('attach', name, ids[0], 'block'), 'block');
  const empty = await box.ask('hash', name, pool);
  await one.ask('writeRaw', name);
  await until(async () => (await box.ask('hash', name, pool)) !== empty);
}

/** Takes the volume down on the first node, which lost it, and on the second, which has it, and deletes it. */
async function clear({ box, nodes: [one, two], ids }: Stage, name: string): Promise<void> {
  await one.ask('takeDown', name);
  await two.ask('takeDown', name);
  await box.ask('detach', name, ids[1]);
  await requireNothingLeft({ box, nodes: [one, two] });
}

/** Returns the number of durable lines in a file; fails on an error of the pod. */
export async function writtenOf(node: Servant, name: string): Promise<number> {
  const { written, fault } = await node.ask<{ written: number; fault: string }>('written', name);
  assert.equal(fault, '');
  return written;
}

/** Waits for a state without a timeout. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(100);
}
