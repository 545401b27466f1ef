// Runs a gateway's export and kills it at one of its changes to the machine: killed-gateway.ts PLAN. Publishes,
// withdraws, and ends.

import childProcess from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { anyExport } from '../../../gateway/exports/index.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { publishAndWithdraw } from './ended.ts';
import type { Plan } from './killed.ts';

const plan = JSON.parse(process.argv[2] ?? '') as Plan;
const { writeSync } = fs;
const die = process.kill.bind(process, process.pid, 'SIGKILL');
const killer = plan.moment === 'meanwhile' ? await startKiller() : undefined;
let left = plan.step;

/**
 * Starts a helper that kills this process on command, as soon as the processor is idle: by then the change waits or is
 * over.
 */
async function startKiller() {
  const line = 'echo ready && read -r _ && kill -KILL "$0"';
  const child = childProcess.spawn('chrt', ['--idle', '0', 'sh', '-c', line, String(process.pid)], {
    // The killer inherits stderr, so that a reader of this process's output also waits for the killer's end.
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

/** Makes a change; this process is killed at the planned one. A program that the change started continues. */
function change(name: string, make: () => unknown): unknown {
  if (left-- !== 0) return make();
  if (!killer) return die();
  if (name !== 'spawn') killer.stdin.write('now\n');
  const made = make();
  if (made instanceof Promise) return made.finally(dieAfter);
  if (name === 'spawn') return die();
  return dieAfter();
}

function dieAfter(): void {
  writeSync(1, 'over');
  die();
}

type Calls = Record<string, (...args: readonly never[]) => unknown>;

function watch(owner: object, names: readonly string[]): void {
  const calls = owner as Calls;
  for (const name of names) {
    const call = calls[name];
    if (!call) throw new Error(name);
    calls[name] = (...args) => change(name, () => call.apply(owner, args as never));
  }
}

watch(promises, ['rename', 'rm', 'rmdir', 'symlink', 'unlink', 'writeFile']);
if (!plan.isBeside) {
  watch(fs, ['chmodSync', 'mkdirSync', 'writeFileSync']);
  watch(childProcess, ['spawn']);
  watch(process, ['kill']);
}
syncBuiltinESMExports();

const { settings, root, kind, poolKey, attached } = plan;
const exported = await anyExport.open(settings, {
  root,
  kind,
  log: silentLog,
  poolKey: async () => Buffer.from(poolKey),
});
await publishAndWithdraw(exported, attached);
killer?.stdin.end();
