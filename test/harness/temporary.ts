import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A test, or another scope that ends and then cleans up. */
export type CleanupScope = { after(end: () => void | Promise<void>): void };

const stacks = new WeakMap<CleanupScope, AsyncDisposableStack>();

/** Returns a stack that a test disposes of at its end, last entry first: hooks of a test run in the order of their calls. */
export function stackOf(t: CleanupScope): AsyncDisposableStack {
  const known = stacks.get(t);
  if (known) return known;
  const stack = new AsyncDisposableStack();
  stacks.set(t, stack);
  t.after(() => stack.disposeAsync());
  return stack;
}

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
