import { execFileSync } from 'node:child_process';
import { openSync, writeSync } from 'node:fs';
import { openConfigTree } from '../../../gateway/local/kernel/configfs.ts';
import { findPort } from '../../vm/fleet/port.ts';
import { loadTarget } from '../../vm/targets/configfs.ts';
import { accessOf, kernelExports, openExportedPool, type KernelExport } from '../../vm/targets/exported.ts';
import { recorded } from '../../suites/exports/recorded.ts';
import { changing, openMany, pathMaker } from '../../vm/targets/many.ts';
import { startDaemons } from '../../vm/targets/scsi-target.ts';
import type { CleanupScope } from '../../vm/targets/undo.ts';
import { inScope, timeAlternately, type Figure } from '../figure.ts';
import { measureDeviceAttach, measureSnapshots, thinVolume, zvol } from './devices.ts';
import { measureDeviceIo, measureIo } from './io.ts';

// Runs in the virtual machine and writes each figure as a line of JSON: inside.ts [zfs].

const port = openSync(findPort('outcomes'), 'w');
const say = (line: Figure | 'end'): number => writeSync(port, `${JSON.stringify(line)}\n`);
const sayAll = (figures: readonly Figure[]): void => figures.forEach(say);
/** A scope without clean-up: the machine ends with everything in it. */
const machine: CleanupScope = { after: () => {} };
const many = 200;
const [rounds, startRounds] = [30, 3];

loadTarget('nvmet', 'nvmet_tcp', 'target_core_file', 'iscsi_target_mod');
// Without udev nothing else loads the module.
execFileSync('modprobe', ['sd_mod']);
await startDaemons();
// All disks are in memory: works that leave nothing attached give it back.
for (const kind of process.argv.includes('zfs') ? [thinVolume, zvol] : [thinVolume]) {
  sayAll(await inScope(t => measureDeviceAttach(t, kind)));
  // On one emulated processor ZFS makes no snapshot beside a writer that never pauses.
  if (kind === thinVolume) sayAll(await measureSnapshots(machine, kind));
}
sayAll(await measureDeviceIo(machine));
for (const protocol of Object.keys(kernelExports) as readonly KernelExport[]) {
  sayAll(await inScope(t => measureAttach(t, protocol)));
  say(await inScope(t => measureStart(t, protocol)));
  sayAll(await measureIo(machine, protocol));
}
say('end');
process.exit();

/** Measures alternately a backend's attach and detach of one volume, and the bare configfs changes of its export. */
async function measureAttach(t: CleanupScope, protocol: KernelExport): Promise<readonly Figure[]> {
  const pool = await openExportedPool(t, protocol);
  const volume = await pool.makeVolume('c.one', 1);
  // Shared objects, such as a port, exist from here on.
  await pool.attach(volume, accessOf('n1'));
  await pool.backend.detach(volume, 'n1', 'c');
  const raw = recordChanges(t, protocol, 1);
  const attaching = await raw.changesOf(() => raw.publishAll());
  const detaching = await raw.changesOf(() => raw.withdrawAll());
  const times = await timeAlternately(rounds, {
    attach: () => pool.attach(volume, accessOf('n1')),
    detach: () => pool.backend.detach(volume, 'n1', 'c'),
    attachRaw: () => makeAll(attaching),
    detachRaw: () => makeAll(detaching),
  });
  const figureOf = (name: 'attach' | 'detach', floor: number): Figure => ({
    name: `${name} over ${protocol}`,
    value: times[name],
    unit: 'ms',
    floor: ['the same changes in configfs', floor],
    target: '≤ 50 ms over it',
  });
  return [figureOf('attach', times.attachRaw), figureOf('detach', times.detachRaw)];
}

async function measureStart(t: CleanupScope, protocol: KernelExport): Promise<Figure> {
  const raw = recordChanges(t, protocol, many);
  const changes = await raw.changesOf(() => raw.publishAll());
  await raw.withdrawAll();
  const times = await timeAlternately(startRounds, {
    value: async () => raw.publishAll(),
    clear: () => raw.withdrawAll(),
    floor: () => makeAll(changes),
    clearAgain: () => raw.withdrawAll(),
  });
  const floor = ['the same changes in configfs, one after another', times.floor] as const;
  const name = `${many} attachments published at a start over ${protocol}`;
  return { name, value: times.value, unit: 'ms', floor, target: '≤ 3000 ms' };
}

type Change = () => unknown;

/** Wraps an export so that its changes to configfs can be recorded. */
function recordChanges(t: CleanupScope, protocol: KernelExport, count: number) {
  let kept: Change[] | undefined;
  const tree = changing(openConfigTree(), change => {
    kept?.push(change);
    return change();
  });
  const { exported, attached } = openMany(t, protocol, {
    count,
    tree,
    makePath: pathMaker(t, 'file'),
  });
  return {
    publishAll: async () => exported.restore?.(recorded(attached)),
    withdrawAll: async () => exported.restore?.(recorded([])),
    async changesOf(work: () => Promise<unknown>): Promise<readonly Change[]> {
      const changes: Change[] = [];
      kept = changes;
      await work();
      kept = undefined;
      return changes;
    },
  };
}

async function makeAll(changes: readonly Change[]): Promise<void> {
  for (const change of changes) await change();
}
