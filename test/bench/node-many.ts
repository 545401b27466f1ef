import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { clientOf } from '../harness/csi-serving.ts';
import { prepareNode, type TestNode } from '../harness/node/program.ts';
import type { ProgramProcess } from '../harness/program.ts';
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
  const agent = node.startAgent();
  await agent.ready;
  const idle = await readSettled(agent.pid);
  const client = clientOf(t, node.socket);
  const open = (name: string): AttachedVolume => {
    const { handle: volume_id, publishContext: publish_context } = node.makeVolume(name);
    return attachedVolume(client, node.root, { volume_id, publish_context });
  };
  const volumes = Array.from({ length: repeats }, (_, index) => open(`new-${index}`));
  const stage = await measureStage(agent.pid, volumes);
  const runCycles = volumes.map(({ runCycle }) => runCycle);
  const alone = await cpuOf(agent.pid, runCycles);
  const staged: AttachedVolume[] = [];
  const crowd = async (count: number): Promise<void> => {
    while (staged.length < count) {
      const name = `staged-${staged.length}`;
      const volume = open(name);
      copyFormat(node, 'new-0', name);
      await volume.bringUp();
      staged.push(volume);
    }
  };
  await crowd(many);
  const cycle: Figure = {
    name: `cycle beside ${many} staged volumes`,
    value: await cpuOf(agent.pid, runCycles),
    unit: 'ms CPU',
    floor: ['the same on an empty node', alone],
    target: '≤ 1.5×',
  };
  await crowd(all);
  const memory: Figure = {
    name: `node agent with ${all} staged volumes, resident`,
    value: await readSettled(agent.pid),
    unit: 'MB',
    floor: ['the agent when idle', idle],
    target: '≤ 90 MB',
  };
  const readAll = async (): Promise<void> => {
    for (const { readStats } of staged) await readStats();
  };
  const stats = await cpuOf(agent.pid, [readAll, readAll]);
  await agent.end('SIGKILL');
  const restarted = [node.startAgent(), prepareNode(t).startAgent()] as const;
  return [stage, cycle, memory, ...(await measureRestart(restarted, readAll, stats))];
}

/** Returns the mean CPU time of the runs of a work in a process and its children. */
async function cpuOf(pid: number, works: readonly (() => Promise<unknown>)[]): Promise<number> {
  const beforeMs = readCpuMs(pid);
  for (const work of works) await work();
  return (readCpuMs(pid) - beforeMs) / works.length;
}

async function measureStage(pid: number, [first, ...others]: readonly AttachedVolume[]): Promise<Figure> {
  await first?.runCycle();
  const stageAll = async (): Promise<number> => {
    const works = others.map(({ stage }) => stage);
    const cost = await cpuOf(pid, works);
    for (const { unstage } of others) await unstage();
    return cost;
  };
  const [value, later] = [await stageAll(), await stageAll()];
  const floor = ['the next stage', later] as const;
  return { name: 'first stage of a new volume', value, unit: 'ms CPU', floor, target: '≤ 60 ms' };
}

/** Measures a start of an agent that finds volumes, and their first statistics beside later ones (`stats`). */
async function measureRestart(
  [agent, empty]: readonly [ProgramProcess, ProgramProcess],
  readAll: () => Promise<void>,
  stats: number,
): Promise<readonly Figure[]> {
  await Promise.all([agent.ready, empty.ready]);
  const [value, start] = [readCpuMs(agent.pid), readCpuMs(empty.pid)];
  const first = await cpuOf(agent.pid, [readAll]);
  const [unit, target] = ['ms CPU', '≤ 1,800 ms'] as const;
  return [
    { name: `restart with ${all} staged volumes`, value, unit, floor: ['a start on an empty node', start] },
    { name: `statistics of ${all} volumes`, value: stats, unit, target },
    { name: 'the first ones after a restart', value: first, unit, floor: ['the next ones', stats], target },
  ];
}

/** Copies the content of a volume's image, so that another volume need not be formatted. */
function copyFormat({ dir }: TestNode, from: string, to: string): void {
  const [source = '', target = ''] = [from, to].map(name => join(dir, 'images', name));
  execFileSync('cp', ['--sparse=always', '--', source, target]);
}
