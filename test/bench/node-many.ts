import type { Bench, Figure } from './figure.ts';
import { childOf, readCpuMs, readResident } from './processes.ts';
import { inDirectory, withDev, type DevSetting } from './setting.ts';
import { cycleRpcs, openCycleVolume, type CycleVolume } from './volume.ts';

const many = 250;
const rounds = 20;
const warmUps = 10;

/** Compares the cost of one volume on a node with many staged volumes and on an empty one. */
export const nodeManyBench: Bench = {
  name: 'node-many',
  doc: `CPU of a new volume's stage, publish, unpublish and unstage, commands included, and of the gateway's delete, with ${many} volumes staged beside none`,
  run: () => inDirectory(dir => withDev(dir, measureMany)),
};

async function measureMany(setting: DevSetting): Promise<readonly Figure[]> {
  const agent = childOf(setting.dev.pid, 'node');
  await measureRounds(setting, { name: 'warm-up', count: warmUps });
  const alone = await measureRounds(setting, { name: 'alone', count: rounds });
  const staged: CycleVolume[] = [];
  for (let index = 0; index < many; index++) {
    const volume = await openCycleVolume(setting, `staged-${index}`);
    staged.push(volume);
    for (const rpc of ['NodeStageVolume', 'NodePublishVolume'] as const) await volume.call(rpc);
  }
  const crowded = await measureRounds(setting, { name: 'crowded', count: rounds });
  const measureAll = async (): Promise<void> => {
    for (const volume of staged) await volume.measure();
  };
  await measureAll();
  const beforeMs = readCpuMs([agent], true);
  await measureAll();
  const statsMs = readCpuMs([agent], true) - beforeMs;
  const resident = readResident(agent);
  for (const volume of staged) {
    for (const rpc of ['NodeUnpublishVolume', 'NodeUnstageVolume'] as const) await volume.call(rpc);
    await volume.remove();
  }
  return [
    ...[...crowded].map(([name, value]): Figure => ({
      name: `${name} beside ${many} staged volumes`,
      value,
      unit: 'ms CPU',
      floor: { name: 'the same on an empty node', value: alone.get(name) ?? 0 },
      target: '≤ 1.5×',
    })),
    {
      name: `statistics of ${many} volumes, each minute`,
      value: statsMs,
      unit: 'ms CPU',
      target: '≤ 900 ms, 3 % of a core for 500 volumes',
    },
    { name: `node agent with ${many} volumes, resident`, value: resident, unit: 'MB', target: '≤ 90 MB' },
  ];
}

/** Measures the mean CPU time of each step in the life of a new volume, in milliseconds. */
async function measureRounds(
  setting: DevSetting,
  { name, count }: { readonly name: string; readonly count: number },
): Promise<ReadonlyMap<string, number>> {
  const [agent, gateway] = ['node', 'gateway'].map(program => childOf(setting.dev.pid, program));
  const sums = new Map<string, number>();
  const add = async (step: string, pid = 0, work: () => Promise<unknown>): Promise<void> => {
    const beforeMs = readCpuMs([pid], true);
    await work();
    sums.set(step, (sums.get(step) ?? 0) + readCpuMs([pid], true) - beforeMs);
  };
  for (let round = 0; round < count; round++) {
    const volume = await openCycleVolume(setting, `${name}-${round}`);
    for (const rpc of cycleRpcs) await add(rpc, agent, () => volume.call(rpc));
    await add('detach and delete in the gateway', gateway, () => volume.remove());
  }
  return new Map([...sums].map(([step, sumMs]) => [step, sumMs / count]));
}
