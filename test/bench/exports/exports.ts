import { fileURLToPath } from 'node:url';
import { startMachine } from '../../vm/machine.ts';
import { whyNoMachine } from '../../vm/packages.ts';
import { whyNoZfs, zfsRoot } from '../../zfs/zfs.ts';
import type { Bench, Figure } from '../figure.ts';

const inside = fileURLToPath(new URL('inside.ts', import.meta.url));

/** Measures the overhead of exports over the kernel's targets. */
export const exportsBench: Bench = {
  name: 'exports',
  doc: 'in a virtual machine: attaching images over nvme-tcp and iscsi beside the same writes to configfs, thin volumes and zvols beside images, I/O beside targets set up by hand, and snapshots of volumes in use beside the command alone',
  async run() {
    const reason = whyNoMachine();
    if (whyNoZfs !== undefined) process.stdout.write(`zvols are left out: it ${whyNoZfs}\n`);
    if (reason === undefined) return measureInMachine();
    process.stdout.write(`left out: it ${reason}\n`);
    return [];
  },
};

/** Reads each line of the machine as a figure, until the line `"end"`. */
async function measureInMachine(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const machine = startMachine({
    silentMs: 10 * 60_000,
    // Writing the kernel's messages about each target to the console would take longer than making the target.
    parameters: ['quiet'],
    ...(whyNoZfs === undefined
      ? { root: zfsRoot, command: [process.execPath, inside, 'zfs'] }
      : { command: [process.execPath, inside] }),
  });
  try {
    for await (const line of machine.lines) {
      const said = JSON.parse(line) as Figure | 'end';
      if (said === 'end') return figures;
      figures.push(said);
    }
    throw new Error(`the virtual machine ended too early:\n${machine.console()}`);
  } finally {
    await machine.end();
  }
}
