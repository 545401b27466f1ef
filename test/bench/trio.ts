import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { driverName, openNode } from '../harness/agent.ts';
import { buildTools, whatIsMissing } from '../harness/go.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import { median, timed, type Bench, type Figure } from './figure.ts';
import { readMemory } from './memory.ts';
import { inScope, type Scope } from './scope.ts';
import { untilRegistered } from './startup.ts';

const rounds = 5;
const settleMs = 3_000;
const tools = ['hostpathplugin', 'csi-node-driver-registrar', 'livenessprobe'] as const;
const stock = 'hostpathplugin + registrar + livenessprobe';

/** The node agent beside the three Go programs that a node pod usually has. */
export const trioBench: Bench = {
  name: 'trio',
  doc: 'memory and start of the node agent with registration and /healthz, beside the stock trio',
  run: measureTrio,
};

/** Where another build of the three is, in place of the releases that the modules name. */
const given = process.env['TRIO_DIR'];
const modules = ['sidecars', 'host-path'].map(name => join(import.meta.dirname, '../conformance', name));

async function measureTrio(): Promise<readonly Figure[]> {
  const missing = given === undefined ? modules.map(whatIsMissing).find(Boolean) : whatIsNotIn(given);
  if (missing !== undefined) {
    process.stdout.write(`not measured: ${missing}\n`);
    return [];
  }
  return inScope(async scope => {
    const directory = given ?? buildTrio(scope);
    const ours = await measure(() => startOurs(scope));
    const theirs = await measure(() => startTrio(scope, directory));
    const figure = (name: string, key: keyof Measured, unit: Figure['unit']): Figure => ({
      name,
      value: ours[key],
      unit,
      floor: { name: stock, value: theirs[key] },
    });
    return [
      figure('exec to registered', 'registeredMs', 'ms'),
      figure('idle, resident (sum)', 'rss', 'MB'),
      figure('idle, private (sum)', 'private', 'MB'),
    ];
  });
}

function whatIsNotIn(directory: string): string | undefined {
  const missing = tools.filter(name => !existsSync(join(directory, name)));
  return missing.length > 0 ? `TRIO_DIR="${directory}" has no ${missing.join(', ')}` : undefined;
}

function buildTrio(scope: Scope): string {
  const directory = makeTemporaryDirectory();
  scope.after(() => removeTemporaryDirectory(directory));
  for (const module of modules) buildTools(module, directory);
  return directory;
}

type Measured = { readonly registeredMs: number; readonly rss: number; readonly private: number };
type Started = {
  readonly pids: readonly number[];
  readonly registration: string;
  end(): Promise<void>;
};

async function measure(start: () => Started): Promise<Measured> {
  const samples: number[] = [];
  let memory = { rss: 0, private: 0 };
  for (let round = 0; round <= rounds; round++) {
    let started: Started | undefined;
    const tookMs = await timed(async () => {
      started = start();
      await untilRegistered(started.registration);
    });
    // The first start fills caches.
    if (round > 0) samples.push(tookMs);
    if (round === rounds) {
      await sleep(settleMs);
      const all = (started?.pids ?? []).map(readMemory);
      memory = {
        rss: all.reduce((sum, { rss }) => sum + rss, 0),
        private: all.reduce((sum, one) => sum + one.private, 0),
      };
    }
    await started?.end();
  }
  return { registeredMs: median(samples), ...memory };
}

function startOurs(scope: Scope): Started {
  const node = openNode(scope);
  const agent = node.startAgent({ 'metrics-listen': '127.0.0.1:0' });
  return {
    pids: [agent.pid],
    registration: join(node.root, 'plugins_registry', `${driverName}-reg.sock`),
    end: () => agent.end(),
  };
}

function startTrio(scope: Scope, directory: string): Started {
  const { dir, socket, root } = openNode(scope);
  const data = join(dir, 'data');
  mkdirSync(data);
  const registry = join(root, 'plugins_registry');
  const argv: Readonly<Record<(typeof tools)[number], readonly string[]>> = {
    hostpathplugin: [
      `--drivername=${driverName}`,
      `--endpoint=unix://${socket}`,
      '--nodeid=n1',
      `--statedir=${data}`,
    ],
    'csi-node-driver-registrar': [
      `--csi-address=${socket}`,
      `--kubelet-registration-path=${socket}`,
      `--plugin-registration-path=${registry}`,
    ],
    livenessprobe: [`--csi-address=${socket}`, '--http-endpoint=127.0.0.1:0'],
  };
  const children = tools.map(name => spawn(join(directory, name), argv[name], { stdio: 'ignore' }));
  const end = async (): Promise<void> => void (await Promise.all(children.map(endChild)));
  scope.after(end);
  return {
    pids: children.map(({ pid = 0 }) => pid),
    registration: join(registry, `${driverName}-reg.sock`),
    end,
  };
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
