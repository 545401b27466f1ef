import { join } from 'node:path';
import { connectCsi } from '../../src/csi/client.ts';
import { measureMemory, measureStartup } from './agent.ts';
import { timed, timeAlternately, type Bench, type Figure, type Floor } from './figure.ts';
import { startFloor } from './processes.ts';
import { startRawCycle } from './raw-cycle.ts';
import { inDirectory, withDev, type DevSetting } from './setting.ts';
import { cycleRpcs, openCycleVolume, type CycleTimes } from './volume.ts';
import { median } from '../harness/values.ts';

const rounds = 80;
const formattedRounds = 20;
const warmUpCalls = 3_000;
const commands = 'losetup, blkid, mount, bind, umount ×2, losetup -d by a shell';

/** Measures the node agent's overhead beyond the necessary commands and calls. */
export const cycleBench: Bench = {
  name: 'cycle',
  doc: 'stage, publish, unpublish, unstage of a loop device (ext4), beside the raw commands by a shell plus four empty gRPC calls; the node agent from exec to registered, and its memory',
  run: async () => [
    ...(await inDirectory(measureStartup)),
    ...(await inDirectory(dir => withDev(dir, measureCycle))),
  ],
};

async function measureCycle(setting: DevSetting): Promise<readonly Figure[]> {
  // Its cycles warm the agent up for the others.
  const memory = await measureMemory(setting);
  const mounted = await measureMounted(setting);
  const formatted = await measureFormatted(setting);
  const whole = median(mounted.times.map(sum));
  const { byShell, agentCalls, emptyCalls } = mounted;
  const rows: readonly (readonly [name: string, value: number, floor?: Floor, target?: string])[] = [
    ...cycleRpcs.map(rpc => [rpc, median(mounted.times.map(times => times[rpc]))] as const),
    [
      'whole cycle',
      whole,
      { name: `${commands}, and four empty calls of the agent`, value: byShell + agentCalls },
      '≤ 1.5×',
    ],
    ['', whole, { name: 'the same, and four calls of an empty grpc-js server', value: byShell + emptyCalls }],
    ['', whole, { name: 'the commands alone', value: byShell }],
    [
      'whole cycle with mkfs',
      median(formatted.times),
      { name: 'the commands with mkfs.ext4', value: formatted.byShell },
    ],
  ];
  const times = rows.map(([name, value, floor, target]): Figure => ({
    name,
    value,
    unit: 'ms',
    floor,
    target,
  }));
  return [memory, ...times];
}

/** Alternates the measured variants, so that noise affects all of them, after warm-up calls. */
async function measureMounted(setting: DevSetting) {
  const { dir, csi } = setting;
  const volume = await openCycleVolume(setting, 'cycle');
  const shell = startRawCycle(dir, 'shell');
  const floor = await startFloor('empty-grpc.ts', join(dir, 'empty.sock'));
  const empty = connectCsi(`unix://${join(dir, 'empty.sock')}`);
  const callAgent = (): Promise<unknown> => csi.node.node.NodeGetCapabilities({});
  const callEmpty = (): Promise<unknown> => empty.identity.Probe({});
  for (const call of [callAgent, callEmpty]) await repeated(warmUpCalls, call);
  const times: CycleTimes[] = [];
  const medians = await timeAlternately(rounds, {
    cycle: async () => times.push(await volume.runCycle()),
    byShell: () => shell.run(),
    agentCalls: () => repeated(cycleRpcs.length, callAgent),
    emptyCalls: () => repeated(cycleRpcs.length, callEmpty),
  });
  await volume.remove();
  shell.end();
  empty.close();
  floor.child.disconnect();
  return { times, ...medians };
}

async function measureFormatted(setting: DevSetting) {
  const raw = startRawCycle(setting.dir, 'raw', 'mkfs');
  const times: number[] = [];
  const byShell: number[] = [];
  for (let round = 0; round < formattedRounds; round++) {
    const volume = await openCycleVolume(setting, `made-${round}`);
    times.push(sum(await volume.runCycle()));
    await volume.remove();
    raw.clear();
    byShell.push(await timed(() => raw.run()));
  }
  raw.end();
  return { times, byShell: median(byShell) };
}

async function repeated(count: number, call: () => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done++) await call();
}

function sum(times: CycleTimes): number {
  return cycleRpcs.reduce((total, rpc) => total + times[rpc], 0);
}
