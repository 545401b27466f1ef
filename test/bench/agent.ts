import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { defaultDriverName } from '../../src/csi/identity.ts';
import { pause, poll } from '../../src/lib/concurrency.ts';
import { askInfo, notify } from '../fakes/kubelet/registration-client.ts';
import { argvOf, cli } from '../harness/program.ts';
import { timed, type Figure } from './figure.ts';
import { childOf, readResident, startFloor } from './processes.ts';
import type { DevSetting } from './setting.ts';
import { openCycleVolume } from './volume.ts';
import { median } from '../harness/values.ts';
import { endProcess } from '../harness/exit.ts';

const rounds = 9;
const cycles = 1_000;
const settleMs = 2_000;
const patience = { everyMs: 2, timeoutMs: 20_000 };

/** Measures the time until the node agent is registered with kubelet, and its memory then. */
export async function measureStartup(dir: string): Promise<readonly Figure[]> {
  const registry = join(dir, 'registry');
  mkdirSync(registry);
  const registeredMs: number[] = [];
  const nothingMs: number[] = [];
  let idle = 0;
  // The first start fills the compile cache.
  for (let round = 0; round <= rounds; round++) {
    const startMs = performance.now();
    const agent = startAgent(dir, registry);
    await register(join(registry, `${defaultDriverName}-reg.sock`));
    if (round > 0) registeredMs.push(performance.now() - startMs);
    if (round === rounds) idle = await readSettled(agent.pid);
    await endProcess(agent, 'SIGTERM');
    nothingMs.push(await timed(() => once(spawn(process.execPath, ['-e', '0']), 'exit')));
  }
  const empty = await startFloor('empty-grpc.ts', join(dir, 'empty.sock'));
  const floor = { name: 'an empty grpc-js server', value: await readSettled(empty.child.pid) };
  empty.child.disconnect();
  return [
    {
      name: 'node agent, exec to registered',
      value: median(registeredMs),
      unit: 'ms',
      floor: { name: 'node -e 0, exec to exit', value: median(nothingMs) },
      target: '≤ 250 ms',
    },
    { name: 'node agent idle, resident', value: idle, unit: 'MB', floor, target: '≤ 68 MB' },
  ];
}

/** Measures the memory of a node agent after many cycles. */
export async function measureMemory(setting: DevSetting): Promise<Figure> {
  const agent = childOf(setting.dev.pid, 'node');
  const floor = { name: 'the agent when idle', value: await readSettled(agent) };
  const volume = await openCycleVolume(setting, 'memory');
  for (let done = 0; done < cycles; done++) await volume.runCycle();
  await volume.remove();
  const name = `node agent after ${cycles} cycles, resident`;
  return { name, value: await readSettled(agent), unit: 'MB', floor, target: '≤ 80 MB' };
}

async function readSettled(pid = 0): Promise<number> {
  await pause(settleMs);
  return readResident(pid);
}

function startAgent(dir: string, registry: string): ChildProcess {
  const settings = {
    endpoint: join(dir, 'node.sock'),
    'node-id': 'n1',
    'state-dir': join(dir, 'state'),
    'kubelet-dir': dir,
    'registration-dir': registry,
    'log-level': 'error',
  };
  return spawn(process.execPath, [cli, 'node', ...argvOf(settings)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/**
 * Registers the agent as kubelet does: once the socket exists it asks for the plug-in's description and confirms the
 * registration; throws on timeout. Earlier clients would each connect once more, and the agent would keep the memory of
 * hundreds of them.
 */
async function register(socket: string): Promise<void> {
  const look = async (): Promise<true | undefined> => {
    if (!existsSync(socket)) return undefined;
    await askInfo(socket);
    await notify(socket, { plugin_registered: true, error: '' });
    return true;
  };
  if (!(await poll(() => look().catch(() => undefined), patience)))
    throw new Error('the node agent was not registered in time');
}
