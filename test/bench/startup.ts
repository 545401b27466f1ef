import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { enroll } from '../../src/dev/enrollment.ts';
import { connectCsi } from '../../src/csi/client.ts';
import { defaultDriverName } from '../../src/csi/identity.ts';
import { cli } from '../harness/dev.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import { askInfo, notify } from '../fakes/kubelet/registration-client.ts';
import { median, timed, type Bench, type Figure } from './figure.ts';

const rounds = 7;
const patienceMs = 20_000;

/** How long each program takes from exec to its first answer. */
export const startupBench: Bench = {
  name: 'startup',
  doc: 'from exec to the first answer of each program, beside an empty Node process',
  run: measureStartup,
};

type Started = { readonly argv: readonly string[]; readonly answered: () => Promise<void> };

async function measureStartup(): Promise<readonly Figure[]> {
  const dir = makeTemporaryDirectory();
  try {
    const floor = {
      name: 'node -e 0, exec to exit',
      value: await medianOf(() => timed(() => once(spawn(process.execPath, ['-e', '0']), 'exit'))),
    };
    const { keyFile, configFile } = await enroll(join(dir, 'enrollment'), { memory: { backend: 'memory' } });
    const nodeSocket = join(dir, 'node.sock');
    const controllerSocket = join(dir, 'controller.sock');
    const log = ['--log-level', 'error'];
    const node: Started = {
      argv: [
        'node',
        '--endpoint',
        nodeSocket,
        '--node-id',
        'n',
        '--state-dir',
        join(dir, 'state'),
        '--kubelet-dir',
        dir,
        ...log,
      ],
      answered: () => untilProbed(nodeSocket),
    };
    const gatewayUrl = 'http://127.0.0.1:17700';
    const controller: Started = {
      argv: [
        'controller',
        '--endpoint',
        controllerSocket,
        '--gateway',
        gatewayUrl,
        '--cluster',
        'dev',
        '--key-file',
        keyFile,
        ...log,
      ],
      answered: () => untilProbed(controllerSocket),
    };
    const gateway: Started = {
      argv: [
        'gateway',
        '--listen',
        '127.0.0.1:17700',
        '--store',
        join(dir, 's.sqlite'),
        '--config',
        configFile,
        ...log,
      ],
      answered: () => untilAnswered(gatewayUrl),
    };
    const registry = join(dir, 'registry');
    mkdirSync(registry);
    const registering: Started = {
      argv: [...node.argv, '--registration-dir', registry],
      answered: () => untilRegistered(join(registry, `${defaultDriverName}-reg.sock`)),
    };
    await startOnce(registering);
    const figures: Figure[] = [
      {
        name: 'node: exec to registered',
        value: await medianOf(() => startOnce(registering)),
        unit: 'ms',
        floor,
        target: '≤ 200 ms',
      },
    ];
    for (const [name, started] of Object.entries({ node, controller, gateway })) {
      await startOnce(started);
      figures.push({
        name: `${name}: exec to first answer`,
        value: await medianOf(() => startOnce(started)),
        unit: 'ms',
        floor,
        target: '≤ 300 ms',
      });
    }
    return figures;
  } finally {
    removeTemporaryDirectory(dir);
  }
}

async function startOnce({ argv, answered }: Started): Promise<number> {
  const startMs = performance.now();
  const child: ChildProcess = spawn(process.execPath, [cli, ...argv], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  await answered();
  const tookMs = performance.now() - startMs;
  child.kill('SIGTERM');
  await ended;
  return tookMs;
}

async function untilProbed(socket: string): Promise<void> {
  for (;;) {
    const client = connectCsi(`unix://${socket}`);
    try {
      await client.identity.Probe({}, 1_000);
      return;
    } catch {
      await pause();
    } finally {
      client.close();
    }
  }
}

/** As kubelet does it: asks who it is, and says that it is registered; throws when that does not come to be. */
export async function untilRegistered(socket: string): Promise<void> {
  const endMs = Date.now() + patienceMs;
  for (;;) {
    try {
      await askInfo(socket);
      await notify(socket, { plugin_registered: true, error: '' });
      return;
    } catch (error) {
      if (Date.now() > endMs) throw error;
      await pause();
    }
  }
}

async function untilAnswered(url: string): Promise<void> {
  for (;;) {
    try {
      const response = await fetch(`${url}/v1/capabilities`);
      await response.text();
      return;
    } catch {
      await pause();
    }
  }
}

function pause(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 2));
}

async function medianOf(measure: () => Promise<number>): Promise<number> {
  const samples: number[] = [];
  for (let round = 0; round < rounds; round++) samples.push(await measure());
  return median(samples);
}
