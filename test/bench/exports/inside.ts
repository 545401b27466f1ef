import { execFileSync } from 'node:child_process';
import { openSync, writeSync } from 'node:fs';
import { findPort } from '../../vm/fleet/port.ts';
import { loadTarget } from '../../vm/targets/configfs.ts';
import { kernelExports, type KernelExport } from '../../vm/targets/exported.ts';
import { startDaemons } from '../../vm/targets/scsi-target.ts';
import type { CleanupScope } from '../../vm/targets/undo.ts';
import { inScope, type Figure } from '../figure.ts';
import { measureAttach, measureDeviceAttach, measureStart } from './attach.ts';
import { thinVolume, zvol } from './devices.ts';
import { measureDeviceIo, measureIo } from './io.ts';
import { measureSnapshots } from './snapshots.ts';

// Runs in the virtual machine and writes each figure as a line of JSON: inside.ts images | devices [zfs].

const port = openSync(findPort('outcomes'), 'w');
const say = (line: Figure | 'end'): number => writeSync(port, `${JSON.stringify(line)}\n`);
const sayAll = (figures: readonly Figure[]): void => figures.forEach(say);
/** A scope without clean-up: the machine ends with everything in it. */
const machine: CleanupScope = { after: () => {} };

await (process.argv.includes('devices') ? measureDevices() : measureImages());
say('end');
process.exit();

/** All disks are in memory: works that leave nothing attached give it back. */
async function measureImages(): Promise<void> {
  loadTarget('nvmet', 'nvmet_tcp', 'target_core_file', 'iscsi_target_mod');
  // Without udev nothing else loads the module.
  execFileSync('modprobe', ['sd_mod']);
  await startDaemons();
  for (const protocol of Object.keys(kernelExports) as readonly KernelExport[]) {
    sayAll(await inScope(t => measureAttach(t, protocol)));
    say(await inScope(t => measureStart(t, protocol)));
    sayAll(await measureIo(machine, protocol));
  }
}

async function measureDevices(): Promise<void> {
  loadTarget('nvmet', 'nvmet_tcp');
  for (const kind of process.argv.includes('zfs') ? [thinVolume, zvol] : [thinVolume]) {
    sayAll(await inScope(t => measureDeviceAttach(t, kind)));
    sayAll(await measureDeviceIo(machine, kind));
    sayAll(await measureSnapshots(machine, kind));
  }
}
