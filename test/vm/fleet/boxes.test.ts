import { test } from 'node:test';
import { whyNoMachine } from '../packages.ts';
import { losePower, openStage, pools } from './boxes/stage.ts';
import {
  backUp,
  cutOff,
  cycle,
  freeBlocks,
  moveBetweenNodes,
  requireNothingLeft,
  shareRaw,
} from './scenarios.ts';

const skip = whyNoMachine();

test('a box exports its images to two nodes', skip === undefined ? {} : { skip }, async t => {
  const { stage, restart } = await openStage(t, 'box');
  await t.test('nvme-tcp: after the answer to a detach no write of the cut-off node lands', () =>
    cutOff(stage, { pool: 'nvme-tcp' }),
  );
  for (const pool of pools) {
    await t.test(`${pool}: no write lands of a node that was paused meanwhile and then continues`, () =>
      cutOff(stage, { pool, isPaused: true }),
    );
    await t.test(
      `${pool}: the other node reads the data of the first, and a snapshot taken meanwhile is restored`,
      () => moveBetweenNodes(stage, pool),
    );
    await t.test(`${pool}: a backup program reads a snapshot while the volume's pod writes`, () =>
      backUp(stage, pool),
    );
    await t.test(`${pool}: deleted and trimmed blocks are freed`, () => freeBlocks(stage, pool));
    await t.test(`${pool}: two nodes that share a raw volume read each other's data`, () =>
      shareRaw(stage, pool),
    );
  }
  await t.test('many attachments over each export, on alternating nodes, leave nothing', async () => {
    await Promise.all(pools.map(pool => cycle(stage, pool, 30)));
    await requireNothingLeft(stage);
  });
  await t.test(
    'a box serves its nodes again after a power cut: durable data is there, and no pod sees an error',
    () => losePower(t, stage, { restart }),
  );
});
