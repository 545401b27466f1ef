import { readdirSync, readFileSync } from 'node:fs';

const blockDevices = '/sys/block';

/** The loop devices of this machine that have the file open, by name; one whose file was deleted meanwhile counts. */
export function loopDevicesOf(path: string): readonly string[] {
  return listLoops().filter(device => {
    const backing = readAttribute(`${device}/loop/backing_file`);
    return backing === path || backing === `${path} (deleted)`;
  });
}

/** Those of `loopDevicesOf` that can write to the file. */
export function writableLoopDevicesOf(path: string): readonly string[] {
  return loopDevicesOf(path).filter(device => readAttribute(`${device}/ro`) !== '1');
}

function listLoops(): readonly string[] {
  try {
    return readdirSync(blockDevices).filter(name => name.startsWith('loop'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Without its newline; undefined when the device has gone or is not set up. */
function readAttribute(name: string): string | undefined {
  try {
    return readFileSync(`${blockDevices}/${name}`, 'utf8').replace(/\n$/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENXIO' || code === 'ENODEV') return undefined;
    throw error;
  }
}
