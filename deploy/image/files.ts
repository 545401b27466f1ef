import { chmodSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Lists every file, link and directory below a directory, without following links. */
export function walk(directory: string): readonly string[] {
  const entries = readdirSync(directory, { withFileTypes: true });
  const below = entries.filter(entry => entry.isDirectory()).map(({ name }) => walk(join(directory, name)));
  return [...entries.map(({ name }) => join(directory, name)), ...below.flat()];
}

/** Writes a file, and creates the directories above it. */
export function write(path: string, text: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Makes a symbolic link, and creates the directories above it. */
export function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

/** Sets plain permissions: everything readable by everybody, and no setuid or setgid bits. */
export function setPlainModes(root: string): void {
  for (const path of walk(root)) {
    const entry = lstatSync(path);
    if (entry.isSymbolicLink()) continue;
    chmodSync(path, entry.isDirectory() || (entry.mode & 0o111) !== 0 ? 0o755 : 0o644);
  }
  chmodSync(root, 0o755);
  chmodSync(join(root, 'tmp'), 0o1777);
}

/** Sums up the bytes of all files below a directory. */
export function sizeOf(directory: string): number {
  const files = walk(directory).map(path => lstatSync(path));
  return files.reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
}
