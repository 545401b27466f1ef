import type { z } from 'zod';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  realpathSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openPlugin } from '../../../harness/open-plugin.ts';
import type { Backend } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../../harness/machine.ts';
import type { Content } from '../../../suites/backend-members.ts';

/** What roots of the tests may promise, in bytes. */
export const roomBytes = 4 * 2 ** 30;
export const mebibyte = 2 ** 20;

/** What a test sets by itself. */
export type Settings = Partial<z.input<typeof backends.dir.settings>>;

/** A root that is gone when the test ends; with `filesystem` on one of its own. */
export function makeRoot(t: TestContext, filesystem?: string): string {
  const temporary = realpathSync(makeTemporaryDirectory());
  t.after(() => removeTemporaryDirectory(temporary));
  const root = join(temporary, 'root');
  mkdirSync(root);
  if (filesystem === undefined) return root;
  const disk = join(temporary, 'disk');
  writeFileSync(disk, '');
  truncateSync(disk, 320 * mebibyte);
  execFileSync(`mkfs.${filesystem}`, ['-q', disk], { stdio: 'pipe' });
  execFileSync('mount', ['-o', 'loop', '--', disk, root], { stdio: 'pipe' });
  return mkdtempSync(join(root, 'volumes-'));
}

/** Opens the backend at a root that `makeRoot` made or another. It holds nothing open. */
export async function openAt(root: string, settings: Settings = {}): Promise<Backend> {
  return openPlugin(backends.dir, { dir: root, capacity: roomBytes, ...settings });
}

/** What a volume holds, as bytes of one file in it. */
export function contentOf(root: string): Content {
  const pathOf = (id: string): string => join(root, id, 'content');
  return {
    write(volumeId, offset, bytes) {
      const file = openSync(pathOf(volumeId), constants.O_RDWR | constants.O_CREAT);
      writeSync(file, bytes, 0, bytes.length, offset);
      closeSync(file);
    },
    read(volumeId, offset, length) {
      const buffer = Buffer.alloc(length);
      const file = openSync(pathOf(volumeId), 'r');
      readSync(file, buffer, 0, length, offset);
      closeSync(file);
      return buffer;
    },
  };
}
