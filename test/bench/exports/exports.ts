import { fileURLToPath } from 'node:url';
import { startMachine } from '../../vm/machine.ts';
import { whyNoMachine } from '../../vm/packages.ts';
import { whyNoZfs, zfsRoot } from '../../zfs/zfs.ts';
import type { Bench, Figure } from '../figure.ts';

const inside = fileURLToPath(new URL('inside.ts', import.meta.url));

/** Measures the overhead of exports over the kernel's targets. */
export const exportsBench: Bench = {
  name: 'exports',
  doc: 'in a virtual machine: attaching images over nvme-tcp and iscsi beside the same changes in configfs, and I/O beside targets set up by hand',
  run: () => measureInMachine({ command: [process.execPath, inside, 'images'] }),
};

/** Measures volumes on devices. */
export const devicesBench: Bench = {
  name: 'devices',
  doc: 'in a virtual machine: thin volumes and zvols over nvme-tcp, their attachments and I/O beside those of images and of targets set up by hand, and snapshots while a node writes beside the command alone',
  async run() {
    const command = [process.execPath, inside, 'devices'];
    if (whyNoZfs === undefined) return measureInMachine({ root: zfsRoot, command: [...command, 'zfs'] });
    process.stdout.write(`zvols are left out: it ${whyNoZfs}\n`);
    return measureInMachine({ command });
  },
};

type Plan = Pick<Parameters<typeof startMachine>[0], 'root' | 'command'>;

/** Reads each line of the machine as a figure, until the line `"end"`. */
async function measureInMachine(plan: Plan): Promise<readonly Figure[]> {
  const reason = whyNoMachine();
  if (reason !== undefined) {
    process.stdout.write(`left out: it ${reason}\n`);
    return [];
  }
  const figures: Figure[] = [];
  const machine = startMachine({
    ...plan,
    silentMs: 10 * 60_000,
    // Writing the kernel's messages about each target to the console would take longer than making the target.
    parameters: ['quiet'],
  });
  try {
    for await (const line of machine.lines) {
      const said = JSON.parse(line) as Figure | 'end';
      if (said === 'end') return figures;
      figures.push(said);
      // Figures would be lost if the machine ended early.
      process.stdout.write(`${line}\n`);
    }
    throw new Error(`the virtual machine ended too early:\n${machine.console()}`);
  } finally {
    await machine.end();
  }
}
