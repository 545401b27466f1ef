import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { defaultDriverName } from '../../src/csi/identity.ts';
import { pause, poll } from '../../src/lib/concurrency.ts';
import { askInfo, notify } from '../fakes/kubelet/registration-client.ts';
import { cli } from '../harness/dev.ts';
import { median, timed, type Bench, type Figure } from './figure.ts';
import { readResident, startFloor } from './processes.ts';
import { inDirectory } from './setting.ts';

const rounds = 9;
const settleMs = 2_000;
const patience = { everyMs: 2, timeoutMs: 20_000 };

/** Measures the time until the node agent is registered, and its memory then. */
export const startupBench: Bench = {
  name: 'startup',
  doc: 'the node agent from exec to registered with kubelet, and its memory idle',
  run: () => inDirectory(measureStartup),
};

async function measureStartup(dir: string): Promise<readonly Figure[]> {
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
    if (round === rounds) {
      await pause(settleMs);
      idle = readResident(agent.pid ?? 0);
    }
    agent.kill('SIGTERM');
    await once(agent, 'exit');
    nothingMs.push(await timed(() => once(spawn(process.execPath, ['-e', '0']), 'exit')));
  }
  return [
    {
      name: 'node agent, exec to registered',
      value: median(registeredMs),
      unit: 'ms',
      floor: { name: 'node -e 0, exec to exit', value: median(nothingMs) },
      target: '≤ 250 ms',
    },
    {
      name: 'node agent idle, resident',
      value: idle,
      unit: 'MB',
      floor: { name: 'an empty grpc-js server', value: await readEmptyServer(dir) },
      target: '≤ 68 MB',
    },
  ];
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
  const argv = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return spawn(process.execPath, [cli, 'node', ...argv], { stdio: ['ignore', 'ignore', 'inherit'] });
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

async function readEmptyServer(dir: string): Promise<number> {
  const { child } = await startFloor('empty-grpc.ts', join(dir, 'empty.sock'));
  await pause(settleMs);
  const resident = readResident(child.pid ?? 0);
  child.disconnect();
  return resident;
}
