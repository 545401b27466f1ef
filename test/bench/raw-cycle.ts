import { execFile } from 'node:child_process';
import { mkdirSync, rmdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** An image file and the paths at which it is mounted by hand. */
export type Raw = { readonly image: string; readonly staging: string; readonly target: string };

/** Makes an image of 512 MiB with nothing in it. */
export function prepareRaw(dir: string, name: string): Raw {
  const raw = {
    image: join(dir, `${name}.img`),
    staging: join(dir, `${name}-staging`),
    target: join(dir, `${name}-target`),
  };
  writeFileSync(raw.image, '');
  truncateSync(raw.image, 512 * 2 ** 20);
  mkdirSync(raw.staging, { recursive: true });
  return raw;
}

/** The same with an ext4. */
export async function makeRawImage(dir: string, name: string): Promise<Raw> {
  const raw = prepareRaw(dir, name);
  await run('mkfs.ext4', ['-q', '-F', raw.image]);
  return raw;
}

/** One node cycle by the commands alone, as one would type them. */
export async function runRaw({ image, staging, target }: Raw, make: boolean): Promise<void> {
  const { stdout } = await run('losetup', ['--find', '--show', image]);
  const device = stdout.trim();
  await run('blkid', ['-p', device]).catch(() => {});
  if (make) await run('mkfs.ext4', ['-q', device]);
  await run('mount', ['-t', 'ext4', device, staging]);
  mkdirSync(target);
  await run('mount', ['--bind', staging, target]);
  await run('umount', [target]);
  rmdirSync(target);
  await run('umount', [staging]);
  await run('losetup', ['--detach', device]);
}
