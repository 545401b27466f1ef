import { fileURLToPath } from 'node:url';
import { startMachine } from '../../vm/machine.ts';
import { whyNoMachine } from '../../vm/packages.ts';
import type { Bench, Figure } from '../figure.ts';

const inside = fileURLToPath(new URL('inside.ts', import.meta.url));

/** What the exports of the kernel's targets add to what the kernel takes. */
export const exportsBench: Bench = {
  name: 'exports',
  doc: 'in a virtual machine: attaching over nvme-tcp and iscsi beside the same writes to configfs, and I/O beside targets set up by hand',
  async run() {
    const reason = whyNoMachine();
    if (reason === undefined) return measureInMachine();
    process.stdout.write(`left out: it ${reason}\n`);
    return [];
  },
};

/** Each line that the machine says is a figure, and the last one `"end"`. */
async function measureInMachine(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const machine = startMachine({
    silentMs: 10 * 60_000,
    // What the kernel tells of each target takes longer to be written to the console than the target to be made.
    parameters: ['quiet'],
    command: [process.execPath, inside],
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
