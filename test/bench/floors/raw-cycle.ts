import { execFile } from 'node:child_process';
import { mkdirSync, rmdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

// The same as raw-cycle.sh, as an everyday program for Node.js starts commands: raw-cycle.ts IMAGE STAGING TARGET
const [image = '', staging = '', target = ''] = process.argv.slice(2);
const run = promisify(execFile);
for await (const _ of createInterface({ input: process.stdin })) {
  const { stdout } = await run('losetup', ['--find', '--show', image]);
  const device = stdout.trim();
  await run('blkid', ['-p', device]);
  await run('mount', ['-t', 'ext4', device, staging]);
  mkdirSync(target);
  await run('mount', ['--bind', staging, target]);
  await run('umount', [target]);
  rmdirSync(target);
  await run('umount', [staging]);
  await run('losetup', ['--detach', device]);
  process.stdout.write('done\n');
}
