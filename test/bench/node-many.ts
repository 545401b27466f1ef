import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { clientOf } from '../harness/csi-serving.ts';
import { prepareNode, type TestNode } from '../harness/node/program.ts';
import type { CleanupScope } from '../harness/temporary.ts';
import { inScope, type Bench, type Figure } from './figure.ts';
import { readCpuMs, readSettled } from './processes.ts';
import { attachedVolume, type AttachedVolume } from './volume.ts';

/** Staged volumes beside a cycle, and beside all other figures. */
const [many, all] = [250, 500];
const repeats = 20;

/** Measures the CPU of the node agent and its commands for one volume, alone and beside hundreds. */
export const nodeManyBench: Bench = {
  name: 'node-many',
  doc: `CPU of the node agent and its commands: the first stage of a new volume (ext4, loop) beside a later one, a cycle beside ${many} staged volumes, the statistics of ${all}; its memory and its restart with ${all}`,
  run: () => inScope(measureMany),
};

async function measureMany(t: CleanupScope): Promise<readonly Figure[]> {
  const node = prepareNode(t);
  let agent = node.startAgent();
  const client = clientOf(t, node.socket);
  const open = (name: string): AttachedVolume => {
    const { handle: volume_id, publishContext: publish_context } = node.makeVolume(name);
    return attachedVolume(client, node.root, { volume_id, publish_context });
  };
  /** Returns the mean CPU time of the runs of a work. */
  const cpuOf = async (works: readonly (() => Promise<unknown>)[]): Promise<number> => {
    const beforeMs = readCpuMs(agent.pid);
    for (const work of works) await work();
    return (readCpuMs(agent.pid) - beforeMs) / works.length;
  };
  await agent.ready;
  const idle = await readSettled(agent.pid);
  const volumes = Array.from({ length: repeats }, (_, index) => open(`new-${index}`));
  const [first, ...others] = volumes;
  await first?.runCycle();
  const firstStage = await cpuOf(others.map(({ stage }) => stage));
  for (const { unstage } of others) await unstage();
  const laterStage = await cpuOf(others.map(({ stage }) => stage));
  for (const { unstage } of others) await unstage();
  const alone = await cpuOf(volumes.map(({ runCycle }) => runCycle));
  const staged: AttachedVolume[] = [];
  const crowd = async (count: number): Promise<void> => {
    while (staged.length < count) {
      const volume = open(`staged-${staged.length}`);
      copyFormat(node, 'new-0', `staged-${staged.length}`);
      await volume.bringUp();
      staged.push(volume);
    }
  };
  await crowd(many);
  const crowded = await cpuOf(volumes.map(({ runCycle }) => runCycle));
  await crowd(all);
  const readAll = async (): Promise<void> => {
    for (const { readStats } of staged) await readStats();
  };
  const stats = await cpuOf([readAll, readAll]);
  const memory = await readSettled(agent.pid);
  await agent.end('SIGKILL');
  agent = node.startAgent();
  await agent.ready;
  const restart = readCpuMs(agent.pid);
  const firstStats = await cpuOf([readAll]);
  const empty = prepareNode(t).startAgent();
  await empty.ready;
  const start = readCpuMs(empty.pid);
  return [
    {
      name: 'first stage of a new volume',
      value: firstStage,
      unit: 'ms CPU',
      floor: ['a later stage', laterStage],
      target: '≤ 60 ms',
    },
    {
      name: `cycle beside ${many} staged volumes`,
      value: crowded,
      unit: 'ms CPU',
      floor: ['the same on an empty node', alone],
      target: '≤ 1.5×',
    },
    { name: `statistics of ${all} volumes`, value: stats, unit: 'ms CPU', target: '≤ 1,800 ms' },
    {
      name: `the same for the first time after a restart`,
      value: firstStats,
      unit: 'ms CPU',
      floor: ['the next time', stats],
      target: '≤ 1,800 ms',
    },
    {
      name: `node agent with ${all} staged volumes, resident`,
      value: memory,
      unit: 'MB',
      floor: ['the agent when idle', idle],
      target: '≤ 90 MB',
    },
    {
      name: `restart with ${all} staged volumes, exec to ready`,
      value: restart,
      unit: 'ms CPU',
      floor: ['the same on an empty node', start],
    },
  ];
}

/** Copies the content of a volume's image, so that another volume need not be formatted. */
function copyFormat({ dir }: TestNode, from: string, to: string): void {
  const [source = '', target = ''] = [from, to].map(name => join(dir, 'images', name));
  execFileSync('cp', ['--sparse=always', '--', source, target]);
}
