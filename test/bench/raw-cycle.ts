import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A node cycle by the commands alone, on an image of 512 MiB of its own, run by a shell that does nothing else. */
export interface RawCycle {
  /** One cycle; what fails throws. */
  run(): Promise<void>;
  /** Empties the image, for a cycle that makes its filesystem. */
  clear(): void;
  /** Ends the shell and removes the image. */
  end(): void;
}

/** Starts one; with `mkfs` each cycle makes the filesystem, else it is made once, here. */
export function startRawCycle(dir: string, name: string, make?: 'mkfs'): RawCycle {
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
  if (!make) execFileSync('mkfs.ext4', ['-q', '-F', image]);
  const script = join(import.meta.dirname, 'floors/raw-cycle.sh');
  const child = spawn('sh', [script, image, staging, target, ...(make ? [make] : [])], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  return {
    clear,
    run: () =>
      new Promise((resolve, reject) => {
        const fail = (): void => reject(new Error('the raw commands failed'));
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
