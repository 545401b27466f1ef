import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
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
  for (const device of loopDevicesOf(dir)) execFileSync('losetup', ['--detach', device]);
  for (const path of mountsBelow(dir).toReversed()) execFileSync('umount', ['--lazy', '--', path]);
  for (const device of loopDevicesOf(dir)) execFileSync('losetup', ['--detach', device]);
  rmSync(dir, { recursive: true, force: true });
}

/** Where a file gets a loop device: it is called `at/name` there, and lies in `directory`. */
export type Elsewhere = { readonly directory: string; readonly at: string; readonly name: string };

/** Sets up a loop device in a mount namespace of its own, which is there until `end` or the test's; the device stays. */
export async function connectElsewhere(
  t: Pick<TestContext, 'after'>,
  { directory, at, name }: Elsewhere,
): Promise<{ readonly device: string; end(): Promise<void> }> {
  const script = 'mount --bind "$0" "$1" && losetup --find --show "$1/$2" && cat';
  const child = spawn('unshare', ['--mount', 'sh', '-c', script, directory, at, name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const end = async () => {
    child.stdin.end();
    await ended;
  };
  t.after(end);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { device: line.toString().trim(), end };
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
