import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

/** Why tests that mount cannot run here, or false when they can. */
export const noRoot: string | false = process.getuid?.() === 0 ? false : 'mounting needs root';

/** A test that mounts, which is skipped where it cannot. */
export function testAsRoot(title: string, work: (t: TestContext) => Promise<void>): void {
  void test(title, { skip: noRoot }, work);
}

/** Makes a directory for one test. */
export function makeTemporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'fairlead-test-'));
}

/** Removes a test's directory, after whatever a failed test left mounted below it or attached from it. */
export function removeTemporaryDirectory(dir: string): void {
  // One that is in use goes with its last user, and one that holds a bound device node frees it.
  detachLoopDevices(dir);
  for (const path of mountsBelow(dir).toReversed()) execFileSync('umount', ['--lazy', '--', path]);
  detachLoopDevices(dir);
  rmSync(dir, { recursive: true, force: true });
}

function detachLoopDevices(dir: string): void {
  for (const device of loopDevicesOf(dir)) {
    const { status, stderr } = spawnSync('losetup', ['--detach', device], { encoding: 'utf8' });
    // One that was only marked before may go meanwhile.
    if (status !== 0 && loopDevicesOf(dir).includes(device)) throw new Error(stderr);
  }
}

/** What is mounted at or below a directory, in the order of mounting. */
export function mountsBelow(dir: string): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map(line => line.split(' ')[4] ?? '')
    .filter(path => path === dir || path.startsWith(`${dir}/`));
}

/** Loop devices whose backing file lies below a directory. */
export function loopDevicesOf(dir: string): readonly string[] {
  return readdirSync('/sys/block')
    .filter(name => name.startsWith('loop'))
    .filter(name => backingFileOf(name).startsWith(`${dir}/`))
    .map(name => `/dev/${name}`);
}

function backingFileOf(name: string): string {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8');
  } catch {
    return '';
  }
}
