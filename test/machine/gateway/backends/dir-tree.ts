import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

/** Fills a directory with one of everything that a copy can lose. `outside` is a path that links in it point at. */
export function fillTree(directory: string, outside: string): void {
  const at = (name: string): string => join(directory, name);
  mkdirSync(at('deep/er'), { recursive: true });
  writeFileSync(at('deep/er/file'), 'content of a file'.repeat(10_000));
  chownSync(at('deep/er/file'), 1_234, 5_678);
  chmodSync(at('deep/er/file'), 0o4640);
  linkSync(at('deep/er/file'), at('hard link'));
  symlinkSync(outside, at('link out'));
  symlinkSync('deep/er', at('link in'));
  symlinkSync('nowhere', at('dangling'));
  const sparse = openSync(at('sparse'), 'w');
  writeSync(sparse, 'start', 0);
  writeSync(sparse, 'end', 40 * 2 ** 20);
  ftruncateSync(sparse, 64 * 2 ** 20);
  closeSync(sparse);
  writeFileSync(Buffer.concat([Buffer.from(at('not text ')), Buffer.from([0xff, 0xfe])]), 'odd name');
  writeFileSync(at('-rf'), 'a name that looks like an option');
  writeFileSync(at('line\nbreak'), '');
  execFileSync('mkfifo', ['--', at('fifo')]);
  execFileSync('mknod', ['--', at('device'), 'c', '1', '3']);
  execFileSync('setfattr', ['--name=user.note', '--value=kept', '--', at('deep/er')]);
  execFileSync('setfattr', ['--name=user.note', '--value=kept too', '--', at('deep/er/file')]);
  execFileSync('setfacl', ['--modify=user:4321:r-x,default:user:4321:rwx', '--', at('deep')]);
  chownSync(at('deep'), 77, 88);
  chmodSync(directory, 0o2775);
  chownSync(directory, 99, 99);
  utimesSync(at('deep/er'), 1_000_000_000, 1_000_000_000.123456);
  utimesSync(directory, 1_100_000_000, 1_100_000_000);
}

/** Everything that is to be the same in a copy, one line for each entry. */
export function manifestOf(directory: string): readonly string[] {
  const first = new Map<bigint, string>();
  const lines = ['', ...namesBelow(directory).sort()].map(name => {
    const path = Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, 'latin1')]);
    const stats = lstatSync(path, { bigint: true });
    const same = stats.isDirectory() ? '' : (first.get(stats.ino) ?? name);
    first.set(stats.ino, same);
    const { mode, uid, gid, rdev, mtimeNs } = stats;
    const size = stats.isDirectory() ? 0n : stats.size;
    return [name, mode.toString(8), uid, gid, rdev, size, mtimeNs, same, contentOf(path, stats)].join('|');
  });
  return [...lines, attributesOf(directory)];
}

/** Every entry's path below a directory, one character for each byte; links are not followed. */
function namesBelow(directory: string, above = ''): string[] {
  const entries = readdirSync(Buffer.from(`${directory}/${above}`, 'latin1'), {
    withFileTypes: true,
    encoding: 'buffer',
  });
  const names: string[] = [];
  for (const entry of entries) {
    const name = `${above}${entry.name.toString('latin1')}`;
    names.push(name);
    if (entry.isDirectory()) names.push(...namesBelow(directory, `${name}/`));
  }
  return names;
}

/** How many bytes a file has on disk. */
export function heldBy(path: string): number {
  return lstatSync(path).blocks * 512;
}

function contentOf(path: Buffer, stats: { isFile(): boolean; isSymbolicLink(): boolean }): string {
  if (stats.isSymbolicLink()) return readlinkSync(path, 'latin1');
  return stats.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
}

/** Extended attributes, ACLs among them. */
function attributesOf(directory: string): string {
  const args = [
    '--recursive',
    '--physical',
    '--no-dereference',
    '--dump',
    '--match=^(user|system)',
    '--',
    '.',
  ];
  const text = execFileSync('getfattr', args, { cwd: directory, encoding: 'utf8' });
  return text.split('\n\n').sort().join('\n\n');
}
