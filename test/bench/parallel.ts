import { join } from 'node:path';
import { startDev } from '../harness/dev.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import { median, timed, type Bench, type Figure } from './figure.ts';
import { createVolume, prepareVolume, runCycle } from './node-cycle.ts';
import { startRaw } from './raw-cycle.ts';

const volumes = 16;
const rounds = 7;

/** What the node agent gains when many volumes come at once, as after a node's restart. */
export const parallelBench: Bench = {
  name: 'parallel',
  doc: `${volumes} node cycles (ext4) at once and one after another, beside the raw commands in both ways: the machine's limit`,
  run: measureParallel,
};

type Work = () => Promise<unknown>;

async function measureParallel(): Promise<readonly Figure[]> {
  const dir = makeTemporaryDirectory();
  const dev = await startDev({ dir: join(dir, 'dev') });
  try {
    const ours: Work[] = [];
    const raw: Work[] = [];
    const ends: Work[] = [];
    for (let index = 0; index < volumes; index++) {
      const volume = await createVolume(dev, { dir, name: `parallel-${index}`, fs: 'ext4' });
      await prepareVolume(volume);
      ends.push(() => volume.remove());
      ours.push(() => runCycle(volume));
      const shell = startRaw(dir, `raw-${index}`, 'shell');
      ends.push(async () => shell.end());
      raw.push(() => shell.run());
    }
    const times = await measureByTurns({
      oursApart: () => oneAfterAnother(ours),
      oursAtOnce: () => allAtOnce(ours),
      rawApart: () => oneAfterAnother(raw),
      rawAtOnce: () => allAtOnce(raw),
    });
    for (const end of ends) await end();
    const perSecond = (ms: number): number => (volumes / ms) * 1_000;
    const { oursApart = 1, oursAtOnce = 1, rawApart = 1, rawAtOnce = 1 } = times;
    return [
      {
        name: 'cycles at once',
        value: perSecond(oursAtOnce),
        unit: '/s',
        floor: { name: 'cycles one after another', value: perSecond(oursApart) },
        target: '≥ 4×, or the limit',
      },
      {
        name: 'raw commands at once: the limit',
        value: perSecond(rawAtOnce),
        unit: '/s',
        floor: { name: 'raw commands one after another', value: perSecond(rawApart) },
      },
      {
        name: 'cycles at once',
        value: perSecond(oursAtOnce),
        unit: '/s',
        floor: { name: 'raw commands at once', value: perSecond(rawAtOnce) },
      },
    ];
  } finally {
    await dev.end();
    removeTemporaryDirectory(dir);
  }
}

/** Medians in milliseconds; the ways are taken by turns, so that a noisy moment meets all. */
async function measureByTurns(ways: Readonly<Record<string, Work>>): Promise<Record<string, number>> {
  const samples = Object.entries(ways).map(([name, work]) => ({ name, work, times: [] as number[] }));
  for (let round = 0; round < rounds; round++)
    for (const { work, times } of samples) times.push(await timed(work));
  return Object.fromEntries(samples.map(({ name, times }) => [name, median(times)]));
}

async function oneAfterAnother(works: readonly Work[]): Promise<void> {
  for (const work of works) await work();
}

async function allAtOnce(works: readonly Work[]): Promise<void> {
  await Promise.all(works.map(work => work()));
}
