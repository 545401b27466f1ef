import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A node cycle by the commands alone, on an image of 512 MiB of its own, run by a process that does nothing else. */
export interface RawCycle {
  /** One cycle; what fails throws. */
  run(): Promise<void>;
  /** Empties the image, for a cycle that makes its filesystem. */
  clear(): void;
  /** Ends the process and removes the image. */
  end(): void;
}

/** Who runs the commands: a shell, the same with mkfs.ext4, or a program for Node.js. */
export type Runner = 'shell' | 'shell with mkfs' | 'Node.js';

const floors = join(import.meta.dirname, 'floors');
const commandLines: Readonly<Record<Runner, readonly [string, string, ...string[]]>> = {
  shell: ['sh', join(floors, 'raw-cycle.sh')],
  'shell with mkfs': ['sh', join(floors, 'raw-cycle.sh'), 'mkfs'],
  'Node.js': [process.execPath, join(floors, 'raw-cycle.ts')],
};

/** Starts one. */
export function startRaw(dir: string, name: string, runner: Runner): RawCycle {
  const [image, staging, target] = ['.img', '-staging', '-target'].map(end => join(dir, `${name}${end}`)) as [
    string,
    string,
    string,
  ];
  mkdirSync(staging);
  const clear = (): void => {
    writeFileSync(image, '');
    truncateSync(image, 512 * 2 ** 20);
  };
  clear();
  const [command, script, ...more] = commandLines[runner];
  if (more.length === 0) execFileSync('mkfs.ext4', ['-q', '-F', image]);
  const child = spawn(command, [script, image, staging, target, ...more], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  return {
    clear,
    run: () =>
      new Promise((resolve, reject) => {
        const fail = (): void => reject(new Error(`the raw commands by ${runner} failed`));
        child.once('close', fail);
        lines.once('line', () => {
          child.off('close', fail);
          resolve();
        });
        child.stdin.write('\n');
      }),
    end() {
      child.stdin.end();
      rmSync(image);
    },
  };
}
