import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { untilAvailable } from '../../../harness/csi-serving.ts';
import { openFleet, type BoxRole, type Servant } from '../fleet.ts';
import {
  cutOff,
  freeBlocks,
  requireNothingLeft,
  shareRaw,
  until,
  writtenOf,
  type Stage,
} from '../scenarios.ts';

const MiB = 2 ** 20;
export const pools = ['nvme-tcp', 'iscsi'] as const;

type DeviceBox = {
  readonly role: BoxRole;
  /** The kind of its devices. */
  readonly devices: string;
  /** The reason to skip the test. */
  readonly why: string | undefined;
};

/** Tests a box whose volumes are devices, with two nodes. */
export function testDevices({ role, devices, why }: DeviceBox): void {
  test(`a box exports its ${devices} to two nodes`, why === undefined ? {} : { skip: why }, async t => {
    const { stage, restart } = await openStage(t, role);
    for (const pool of pools) {
      await t.test(`${pool}: no write lands of a node that was paused meanwhile and then continues`, () =>
        cutOff(stage, { pool, isPaused: true }),
      );
      await t.test(`${pool}: deleted and trimmed blocks are freed`, () => freeBlocks(stage, pool));
      await t.test(`${pool}: two nodes that share a raw volume read each other's data`, () =>
        shareRaw(stage, pool),
      );
    }
    await t.test(
      'the box serves its nodes again after a power cut: durable data is there, and no pod sees an error',
      () => losePower(t, stage, { restart }),
    );
  });
}

/** Starts a box with a disk, and two nodes. `restart` starts the box again. */
export async function openStage(
  t: TestContext,
  role: BoxRole,
): Promise<{ readonly stage: Stage; readonly restart: () => Promise<Servant> }> {
  const fleet = openFleet(t, 2);
  const disk = join(fleet.directory, 'disk');
  writeFileSync(disk, '');
  truncateSync(disk, 2_048 * MiB);
  const restart = (): Promise<Servant> => fleet.startBox(disk, role);
  const [box, one, two] = await Promise.all([restart(), fleet.startPeer(1), fleet.startPeer(2)]);
  const keys = await box.ask('keys');
  const ids = await Promise.all([one, two].map(node => node.ask<string>('start', keys)));
  for (const id of ids) await box.ask('putNode', id);
  return { stage: { box, nodes: [one, two], ids: [ids[0] ?? '', ids[1] ?? ''] }, restart };
}

/** Cuts the box's power while four pods write, and fails if one of them sees an error or loses durable data. */
export async function losePower(
  t: TestContext,
  stage: Stage,
  { restart }: { readonly restart: () => Promise<Servant> },
): Promise<void> {
  const { box, nodes, ids } = stage;
  const [one, two] = [
    { node: nodes[0], id: ids[0] },
    { node: nodes[1], id: ids[1] },
  ];
  const pods = [
    { ...one, pool: 'nvme-tcp', name: 'first' },
    { ...one, pool: 'iscsi', name: 'second' },
    { ...two, pool: 'nvme-tcp', name: 'third' },
    { ...two, pool: 'iscsi', name: 'fourth' },
  ];
  for (const { node, id, name, pool } of pods) {
    await box.ask('create', name, pool, { requiredBytes: 64 * MiB });
    await node.ask('bringUp', name, await box.ask('attach', name, id, 'mount'));
    await node.ask('writeFile', name);
  }
  for (const { node } of [one, two]) await node.ask('waitForTargets', 3_600);
  for (const { node, name } of pods) await until(async () => (await writtenOf(node, name)) > 20);
  await box.end();
  const durable = new Map<string, number>();
  for (const { node, name } of pods) durable.set(name, await writtenOf(node, name));
  stage.box = await restart();
  t.diagnostic(
    `the gateway served ${Math.round(await stage.box.ask<number>('startedMs'))} ms after its start`,
  );
  for (const { node, name } of pods)
    await until(async () => (await writtenOf(node, name)) > (durable.get(name) ?? 0) + 20);
  // On a busy machine the kernel may take longer than one call; a cluster asks again.
  const detach = (name: string, id: string) => untilAvailable(() => stage.box.ask('detach', name, id));
  for (const { node, name, id } of pods) {
    await node.ask('stopWriting', name);
    const written = await writtenOf(node, name);
    await node.ask('takeDown', name);
    await detach(name, id);
    await node.ask('bringUp', name, await stage.box.ask('attach', name, id, 'mount'));
    assert.ok((await node.ask<number>('linesOf', name)) >= written);
    await node.ask('takeDown', name);
    await detach(name, id);
  }
  await requireNothingLeft(stage);
}
