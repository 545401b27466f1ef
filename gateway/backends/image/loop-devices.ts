import { readdirSync, readFileSync } from 'node:fs';

const blockDevices = '/sys/block';

/** The loop devices of this machine that have the file open, by name; one whose file was deleted meanwhile counts. */
export function loopDevicesOf(path: string): readonly string[] {
  return listLoops().filter(device => {
    const backing = readBackingFile(device);
    return backing === path || backing === `${path} (deleted)`;
  });
}

function listLoops(): readonly string[] {
  try {
    return readdirSync(blockDevices).filter(name => name.startsWith('loop'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function readBackingFile(device: string): string | undefined {
  try {
    return readFileSync(`${blockDevices}/${device}/loop/backing_file`, 'utf8').replace(/\n$/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENXIO' || code === 'ENODEV') return undefined;
    throw error;
  }
}
