import { join } from 'node:path';
import { startDev, type Dev } from '../harness/dev.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import { median, timed, type Bench, type Figure } from './figure.ts';
import { createVolume, cycleRpcs, prepareVolume, runCycle, type CycleTimes } from './node-cycle.ts';
import { startRaw } from './raw-cycle.ts';

const rounds = 60;
const formattedRounds = 20;
const warmUpCalls = 3_000;
const commands = 'losetup, blkid, mount, bind, umount ×2, losetup -d';

/** What the node agent costs beside the same commands: as a program for Node.js runs them, and as a shell does. */
export const cycleBench: Bench = {
  name: 'cycle',
  doc: 'the node cycle on a loop device (ext4), beside the same raw commands one after another',
  run: measureCycle,
};

async function measureCycle(): Promise<readonly Figure[]> {
  const dir = makeTemporaryDirectory();
  const dev = await startDev({ dir: join(dir, 'dev') });
  try {
    const mounted = await measureMounted(dev, dir);
    const formatted = await measureFormatted(dev, dir);
    const whole = { name: 'whole cycle', value: median(mounted.times.map(sum)), unit: 'ms' } as const;
    return [
      ...cycleRpcs.map((rpc): Figure => ({
        name: rpc,
        value: median(mounted.times.map(times => times[rpc])),
        unit: 'ms',
      })),
      { ...whole, floor: { name: `${commands}, by Node.js`, value: mounted.byNode }, target: '≤ 1.2×' },
      { ...whole, floor: { name: 'the same by a shell', value: mounted.byShell } },
      {
        name: 'NodeStageVolume with mkfs',
        value: median(formatted.times.map(times => times.NodeStageVolume)),
        unit: 'ms',
      },
      {
        name: 'whole cycle with mkfs',
        value: median(formatted.times.map(sum)),
        unit: 'ms',
        floor: { name: 'the same with mkfs.ext4, by a shell', value: formatted.byShell },
      },
    ];
  } finally {
    await dev.end();
    removeTemporaryDirectory(dir);
  }
}

type Measured = { readonly times: readonly CycleTimes[]; readonly byShell: number };

/** Ours and the raw commands by turns, so that a noisy moment meets all. */
async function measureMounted(dev: Dev, dir: string): Promise<Measured & { readonly byNode: number }> {
  const volume = await createVolume(dev, { dir, name: 'cycle', fs: 'ext4' });
  await prepareVolume(volume);
  // Kubelet's client is compiled, and both it and the agent have run for long.
  for (let call = 0; call < warmUpCalls; call++) await volume.node.NodeGetCapabilities({});
  const [shell, node] = [startRaw(dir, 'shell', 'shell'), startRaw(dir, 'node', 'Node.js')];
  const times: CycleTimes[] = [];
  const byShell: number[] = [];
  const byNode: number[] = [];
  for (let round = 0; round < rounds; round++) {
    times.push(await runCycle(volume));
    byShell.push(await timed(() => shell.run()));
    byNode.push(await timed(() => node.run()));
  }
  await volume.remove();
  for (const raw of [shell, node]) raw.end();
  return { times, byShell: median(byShell), byNode: median(byNode) };
}

async function measureFormatted(dev: Dev, dir: string): Promise<Measured> {
  const raw = startRaw(dir, 'raw', 'shell with mkfs');
  const times: CycleTimes[] = [];
  const byShell: number[] = [];
  for (let round = 0; round < formattedRounds; round++) {
    const volume = await createVolume(dev, { dir, name: `made-${round}`, fs: 'ext4' });
    times.push(await runCycle(volume));
    await volume.remove();
    raw.clear();
    byShell.push(await timed(() => raw.run()));
  }
  raw.end();
  return { times, byShell: median(byShell) };
}

function sum(times: CycleTimes): number {
  return cycleRpcs.reduce((total, rpc) => total + times[rpc], 0);
}
