// The export nbd as it is, but that it kills itself right before it changes the machine for the n-th time, or right after it
// started a program, which goes on: killed-nbd.ts PLAN. Publishes, withdraws, and ends.

import childProcess from 'node:child_process';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import type { NodeAccess } from '../../../../gateway/backend.ts';
import type { ExportedVolume } from '../../../../gateway/export.ts';
import { silentLog } from '../../../../src/lib/log.ts';

/** What to do, and after how many steps to die. */
export type Plan = {
  readonly left: number;
  readonly settings: {
    readonly protocol: 'nbd';
    readonly address: string;
    readonly ports: { readonly from: number; readonly to: number };
  };
  readonly parts: { readonly program: string; readonly directory: string };
  readonly poolKey: string;
  readonly volume: ExportedVolume;
  readonly access: NodeAccess;
};

const plan = JSON.parse(process.argv[2] ?? '') as Plan;
const kill = process.kill.bind(process);
let { left } = plan;

function step(): void {
  if (left-- <= 0) kill(process.pid, 'SIGKILL');
}

type Calls = Record<string, (...args: readonly never[]) => unknown>;

function watch(owner: object, names: readonly string[]): void {
  const calls = owner as Calls;
  for (const name of names) {
    const call = calls[name];
    if (!call) throw new Error(name);
    calls[name] = (...args) => {
      step();
      const result = call.apply(owner, args as never);
      if (name === 'spawn') step();
      return result;
    };
  }
}

watch(promises, ['writeFile', 'rename', 'rm']);
watch(childProcess, ['spawn']);
watch(process, ['kill']);
syncBuiltinESMExports();

const { exportNbd } = await import('../../../../gateway/exports/nbd.ts');
const { createNames } = await import('../../../../gateway/exports/targets/names.ts');
const { settings, parts, poolKey, volume, access } = plan;
const names = createNames(Buffer.from(poolKey));
const exported = exportNbd(settings, { ...parts, names, log: silentLog });
await exported.publish(volume, access);
await exported.withdraw(volume, access.nodeId, access.cluster);
