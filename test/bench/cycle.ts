import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startDev, type Dev } from '../harness/dev.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import { median, timed, type Bench, type Figure } from './figure.ts';
import { createVolume, cycleRpcs, prepareVolume, runCycle, type CycleTimes } from './node-cycle.ts';
import { makeRawImage, prepareRaw, runRaw } from './raw-cycle.ts';

const rounds = 60;
const formattedRounds = 20;

/** What the node agent costs beside the same commands run by hand. */
export const cycleBench: Bench = {
  name: 'cycle',
  doc: 'the node cycle on a loop device (ext4), beside the same raw commands run by hand one after another',
  run: measureCycle,
};

async function measureCycle(): Promise<readonly Figure[]> {
  const dir = makeTemporaryDirectory();
  const dev = await startDev({ dir: join(dir, 'dev') });
  try {
    const mounted = await measureMounted(dev, dir);
    const formatted = await measureFormatted(dev, dir);
    const floor = { name: 'losetup, blkid, mount, bind, umount ×2, losetup -d', value: mounted.rawMs };
    const floorMade = { name: 'the same with mkfs.ext4', value: formatted.rawMs };
    return [
      ...cycleRpcs.map((rpc): Figure => ({
        name: rpc,
        value: median(mounted.times.map(times => times[rpc])),
        unit: 'ms',
      })),
      { name: 'whole cycle', value: median(mounted.times.map(sum)), unit: 'ms', floor, target: '≤ 1.2×' },
      {
        name: 'NodeStageVolume with mkfs',
        value: median(formatted.times.map(times => times.NodeStageVolume)),
        unit: 'ms',
      },
      {
        name: 'whole cycle with mkfs',
        value: median(formatted.times.map(sum)),
        unit: 'ms',
        floor: floorMade,
      },
    ];
  } finally {
    await dev.end();
    removeTemporaryDirectory(dir);
  }
}

type Measured = { readonly times: readonly CycleTimes[]; readonly rawMs: number };

/** Ours and the raw commands by turns, so that a noisy moment meets both. */
async function measureMounted(dev: Dev, dir: string): Promise<Measured> {
  const volume = await createVolume(dev, { dir, name: 'cycle', fs: 'ext4' });
  await prepareVolume(volume);
  const raw = await makeRawImage(dir, 'raw');
  const times: CycleTimes[] = [];
  const rawMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    times.push(await runCycle(volume));
    rawMs.push(await timed(() => runRaw(raw, false)));
  }
  await volume.remove();
  rmSync(raw.image);
  return { times, rawMs: median(rawMs) };
}

async function measureFormatted(dev: Dev, dir: string): Promise<Measured> {
  const times: CycleTimes[] = [];
  const rawMs: number[] = [];
  for (let round = 0; round < formattedRounds; round++) {
    const volume = await createVolume(dev, { dir, name: `made-${round}`, fs: 'ext4' });
    times.push(await runCycle(volume));
    await volume.remove();
    const raw = prepareRaw(dir, 'raw');
    rawMs.push(await timed(() => runRaw(raw, true)));
    rmSync(raw.image);
  }
  return { times, rawMs: median(rawMs) };
}

function sum(times: CycleTimes): number {
  return cycleRpcs.reduce((total, rpc) => total + times[rpc], 0);
}
