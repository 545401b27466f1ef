import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A test, or another scope that ends and then cleans up. */
export type CleanupScope = Pick<TestContext, 'after'>;

/** Makes a directory that is removed when the test ends. */
export function temporaryDirectory(t: CleanupScope): string {
  const directory = mkdtempSync(join(tmpdir(), 'fairlead-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Writes a file (text unchanged, anything else as JSON) that is removed with its test. */
export function temporaryFile(t: CleanupScope, content: unknown): string {
  const path = join(temporaryDirectory(t), 'file');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
