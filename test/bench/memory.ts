import { pause } from '../../src/lib/concurrency.ts';
import type { Bench, Figure } from './figure.ts';
import { childOf, readResident } from './processes.ts';
import { inDirectory, withDev, type DevSetting } from './setting.ts';
import { openCycleVolume } from './volume.ts';

const rounds = [1_000, 5_000, 10_000];
const settleMs = 2_000;

/** Measures the memory of the node agent. */
export const memoryBench: Bench = {
  name: 'memory',
  doc: `resident memory of the node agent after ${rounds.join(', ')} cycles, beside the same agent idle`,
  run: () => inDirectory(dir => withDev(dir, measureMemory)),
};

async function measureMemory(setting: DevSetting): Promise<readonly Figure[]> {
  const agent = childOf(setting.dev.pid, 'node');
  await pause(settleMs);
  const floor = { name: 'idle', value: readResident(agent) };
  const volume = await openCycleVolume(setting, 'memory');
  const figures: Figure[] = [];
  let done = 0;
  for (const cycles of rounds) {
    for (; done < cycles; done++) await volume.runCycle();
    await pause(settleMs);
    const name = `node agent after ${cycles} cycles, resident`;
    figures.push({ name, value: readResident(agent), unit: 'MB', floor, target: '≤ 80 MB' });
  }
  await volume.remove();
  return figures;
}
