import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectCsi } from '../../src/csi/client.ts';
import { openDev } from '../harness/dev.ts';
import { prepareNode, runNode } from '../harness/node/program.ts';
import type { CleanupScope } from '../harness/temporary.ts';
import { median } from '../harness/values.ts';
import { inScope, timeAlternately, timed, type Bench, type Figure } from './figure.ts';
import { childOf, readSettled, startFloor } from './processes.ts';
import { attachVolume, unlimited, type AttachedVolume } from './volume.ts';

const starts = 9;
const manyCycles = 1_000;
const rounds = 80;
const warmUpCalls = 3_000;

/** Measures the node agent's overhead beyond the necessary commands and calls. */
export const cycleBench: Bench = {
  name: 'cycle',
  doc: `stage, publish, unpublish, unstage of a loop device (ext4), beside the raw commands by a shell plus four empty gRPC calls; the node agent from exec to registered, and its memory`,
  run: async () => [...(await inScope(measureStart)), ...(await inScope(measureCycle))],
};

/** Measures the time until the node agent is registered with a kubelet, and its memory then. */
async function measureStart(t: CleanupScope): Promise<readonly Figure[]> {
  const registeredMs: number[] = [];
  const nothingMs: number[] = [];
  let idle = 0;
  // The first start fills the compile cache.
  for (let round = 0; round <= starts; round++)
    await inScope(async inner => {
      const node = prepareNode(inner);
      const startMs = performance.now();
      const { agent } = await runNode(inner, {}, { node });
      if (round > 0) registeredMs.push(performance.now() - startMs);
      if (round === starts) idle = await readSettled(agent.pid);
      nothingMs.push(await timed(() => once(spawn(process.execPath, ['-e', '0']), 'exit')));
    });
  const empty = await startFloor(t, 'empty-grpc.ts', join(prepareNode(t).dir, 'empty.sock'));
  return [
    {
      name: 'node agent, exec to registered',
      value: median(registeredMs),
      unit: 'ms',
      floor: ['node -e 0, exec to exit', median(nothingMs)],
      target: '≤ 250 ms',
    },
    {
      name: 'node agent idle, resident',
      value: idle,
      unit: 'MB',
      floor: ['an empty grpc-js server', await readSettled(empty.pid)],
      target: '≤ 68 MB',
    },
  ];
}

async function measureCycle(t: CleanupScope): Promise<readonly Figure[]> {
  const setting = await openDev(t, unlimited);
  const agent = childOf(setting.dev.pid, 'node');
  const idle = await readSettled(agent);
  const volume = await attachVolume(setting, 'cycle');
  // They warm the agent up for the other measurement.
  for (let done = 0; done < manyCycles; done++) await volume.runCycle();
  const memory = await readSettled(agent);
  const times = await timeCycles(t, setting.dir, volume);
  return [
    {
      name: `node agent after ${manyCycles} cycles, resident`,
      value: memory,
      unit: 'MB',
      floor: ['the agent when idle', idle],
      target: '≤ 80 MB',
    },
    {
      name: 'cycle: stage, publish, unpublish, unstage',
      value: times.cycle,
      unit: 'ms',
      floor: [
        'the commands by a shell, and four calls of an empty grpc-js server',
        times.byShell + times.calls,
      ],
      target: '≤ 1.5×',
    },
  ];
}

/** Times cycles, the raw commands and empty calls alternately, after warm-up calls. */
async function timeCycles(t: CleanupScope, dir: string, volume: AttachedVolume) {
  const byShell = startRawCycle(t, join(dir, 'raw'));
  const socket = join(dir, 'empty.sock');
  await startFloor(t, 'empty-grpc.ts', socket);
  const empty = connectCsi(`unix://${socket}`);
  t.after(empty.close);
  const call = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done++) await empty.identity.Probe({});
  };
  await call(warmUpCalls);
  return timeAlternately(rounds, { cycle: volume.runCycle, byShell, calls: () => call(4) });
}

/** Starts a shell for raw cycles, and returns a function that runs one; it throws if a command fails. */
function startRawCycle(t: CleanupScope, dir: string): () => Promise<void> {
  mkdirSync(dir);
  const child = spawn('sh', [join(import.meta.dirname, 'floors/raw-cycle.sh'), dir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => void child.stdin.end());
  const lines = createInterface({ input: child.stdout });
  return async () => {
    child.stdin.write('\n');
    const [line] = (await Promise.race([once(lines, 'line'), once(child, 'close')])) as unknown[];
    if (line !== 'done') throw new Error('the raw commands failed');
  };
}
