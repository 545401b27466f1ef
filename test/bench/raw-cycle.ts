import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Starts a shell that runs node cycles with commands only, on its own image of 512 MiB. With `mkfs` each cycle makes
 * the filesystem; otherwise it is made once, here.
 */
export function startRawCycle(dir: string, name: string, make?: 'mkfs') {
  const image = join(dir, `${name}.img`);
  const [staging, target] = [join(dir, `${name}-staging`), join(dir, `${name}-target`)];
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
    /** Empties the image, for a cycle that makes its filesystem. */
    clear,
    /** Runs one cycle; throws if a command fails. */
    run: () =>
      new Promise<void>((resolve, reject) => {
        const fail = (): void => reject(new Error('the raw commands failed'));
        child.once('close', fail);
        lines.once('line', () => {
          child.off('close', fail);
          resolve();
        });
        child.stdin.write('\n');
      }),
    /** Ends the shell and removes the image. */
    end() {
      child.stdin.end();
      rmSync(image);
    },
  };
}
