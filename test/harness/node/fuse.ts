import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Filesystems that stop answering on command. */
export interface HangingFuse {
  hang(): Promise<void>;
  /** Kills their server: pending and later calls fail with ENOTCONN. */
  end(): Promise<void>;
}

/** Covers the targets with filesystems whose source is the images' loop devices, so that they pass for the volumes. */
export function mountFuse(
  t: Pick<TestContext, 'after'>,
  covers: readonly { readonly image: string; readonly target: string }[],
): Promise<HangingFuse> {
  const pairs = covers.flatMap(({ image, target }) => [
    execFileSync('losetup', ['--noheadings', '--output', 'NAME', '--associated', image], {
      encoding: 'utf8',
    }).trim(),
    target,
  ]);
  return serveFuse(t, pairs);
}

/** Mounts a filesystem for each source and path, one after the other. */
export async function serveFuse(
  t: Pick<TestContext, 'after'>,
  pairs: readonly string[],
): Promise<HangingFuse> {
  const program = fileURLToPath(new URL('../../fakes/hanging-fuse.ts', import.meta.url));
  const child = spawn(process.execPath, [program, ...pairs], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'ready');
  return {
    hang: async () => {
      child.stdin.write('hang\n');
      assert.equal((await lines.next()).value, 'done');
    },
    end: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
