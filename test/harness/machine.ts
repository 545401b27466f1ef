import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
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

/** A TCP port of loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Removes a test's directory, after whatever a failed test left mounted below it or attached from it. */
export function removeTemporaryDirectory(dir: string): void {
  // One that is in use goes with its last user, and one that holds a bound device node frees it.
  detachLoopDevices(dir);
  for (const path of allMountsBelow(dir).toReversed()) execFileSync('umount', ['--lazy', '--', path]);
  detachLoopDevices(dir);
  rmSync(dir, { recursive: true, force: true });
}

/**
 * Detaches the loop devices of a directory; those in use go with their last user. One that is to go so already is left to that:
 * another test's file may have its name at any moment.
 */
export function detachLoopDevices(dir: string): void {
  for (const device of loopDevicesOf(dir)) {
    if (isGoing(device)) continue;
    const { status, stderr } = spawnSync('losetup', ['--detach', device], { encoding: 'utf8' });
    // One that was only marked before may go meanwhile.
    if (status !== 0 && loopDevicesOf(dir).includes(device)) throw new Error(stderr);
  }
}

function isGoing(device: string): boolean {
  try {
    return readFileSync(`/sys/block/${basename(device)}/loop/autoclear`, 'utf8') === '1\n';
  } catch {
    return true;
  }
}

/** Where a file gets a loop device: it is called `at/name` there, and lies in `directory`. */
export type Elsewhere = { readonly directory: string; readonly at: string; readonly name: string };

/** Sets up a loop device in a mount namespace of its own, which is there until `end` or the test's; the device stays. */
export async function connectElsewhere(
  t: Pick<TestContext, 'after'>,
  { directory, at, name }: Elsewhere,
): Promise<{ readonly device: string; end(): Promise<void> }> {
  const script = 'mount --make-rprivate / && mount --bind "$0" "$1" && losetup --find --show "$1/$2" && cat';
  const [unshare = '', ...apart] = apartFromOthers(directory);
  const child = spawn(unshare, [...apart, 'sh', '-c', script, directory, at, name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const end = async () => {
    child.stdin.end();
    await ended;
  };
  t.after(end);
  const failed = ended.then(() => assert.fail('it ended without a loop device'));
  const [line] = (await Promise.race([once(child.stdout, 'data'), failed])) as [Buffer];
  return { device: line.toString().trim(), end };
}

/** Else the copies of other tests' mounts would keep their devices busy for as long as the mount namespace lives. */
const forgetOthers = `
own=$(echo "$0" | sed -E 's,(/fairlead-test-[^/]*).*,\\1,')
others() {
  cut -d ' ' -f 5 /proc/self/mountinfo | grep /fairlead-test- | grep -vxF "$own" | grep -vF "$own/" | sort --reverse
}
others | while read -r path; do mount --make-private "$path"; done
others | while read -r path; do umount --lazy -- "$path"; done
exec "$@"`;

const asMounted = ['--propagation', 'unchanged'];

/**
 * The beginning of a command in a mount namespace of its own, with what the test has mounted whose directory `dir` is in; `how`
 * are what else `unshare` is told.
 */
export function apartFromOthers(dir: string, how: readonly string[] = asMounted): readonly string[] {
  return ['unshare', '--mount', ...how, 'sh', '-c', forgetOthers, dir];
}

/** What tests themselves mounted, which no agent has to take away. */
const ground = new Set<string>();

/** Makes a directory a mount of its own, of this propagation; it goes with the test's directory. */
export function bindToItself(path: string, propagation: 'private' | 'shared'): void {
  execFileSync('mount', ['--bind', path, path]);
  execFileSync('mount', [`--make-${propagation}`, path]);
  ground.add(path);
}

/** What is mounted at or below a directory, in the order of mounting, but for what `bindToItself` did. */
export function mountsBelow(dir: string): readonly string[] {
  return allMountsBelow(dir).filter(path => !ground.has(path));
}

function allMountsBelow(dir: string): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map(line => line.split(' ')[4] ?? '')
    .filter(path => path === dir || path.startsWith(`${dir}/`));
}

/** Loop devices whose file lies below a directory by its path, or in its `images` by its inode. */
export function loopDevicesOf(dir: string): readonly string[] {
  const images = join(dir, 'images');
  const names = existsSync(images) ? readdirSync(images) : [];
  const files = new Set(names.map(name => identityOf(join(images, name))));
  const columns = ['NAME', 'BACK-MAJ:MIN', 'BACK-INO', 'BACK-FILE'];
  const args = ['--list', '--raw', '--noheadings', '--output', columns.join()];
  const lines = execFileSync('losetup', args, { encoding: 'utf8' }).split('\n');
  return lines
    .map(line => line.replaceAll('\\x20', ' ').split(/ +/))
    .filter(([, number, inode, file]) => files.has(`${number} ${inode}`) || file?.startsWith(`${dir}/`))
    .map(([name = '']) => name);
}

function identityOf(path: string): string {
  const { dev, ino } = statSync(path);
  return `${(dev >> 8) & 0xfff}:${dev & 0xff} ${ino}`;
}
