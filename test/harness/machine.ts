import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { stackOf, type CleanupScope } from './temporary.ts';

/** The reason why tests that mount are skipped here; false if they can run. */
export const noRoot: string | false = process.getuid?.() === 0 ? false : 'mounting needs root';

/** Declares a test that mounts; it is skipped where mounting is impossible. */
export function testAsRoot(title: string, work: (t: TestContext) => Promise<void>): void {
  void test(title, { skip: noRoot }, work);
}

export function makeTemporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'fairlead-test-'));
}

/** Finds a TCP port of loopback without a listener. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Removes a test's directory, after its mounts and loop devices that a failed test left. */
export function removeTemporaryDirectory(dir: string): void {
  removeMounts(allMountsBelow(dir));
  detachLoopDevices(dir);
  rmSync(dir, { recursive: true, force: true });
}

/**
 * Removes mounts, also those in use. Do this before their devices are detached: if a free device were still bound, the
 * agent of the test that gets it next would take it for in use.
 */
export function removeMounts(paths: readonly string[]): void {
  // A loop device over a bound device node, such as a kubelet's, no longer shows the path once that is unmounted.
  detachAll(() => listLoopDevices().filter(({ file = '' }) => paths.includes(file)));
  for (const path of paths.toReversed()) execFileSync('umount', ['--lazy', '--', path]);
}

/** Makes a directory that is removed when its test ends, with everything that is mounted in it. */
export function directoryOf(t: CleanupScope): string {
  const dir = makeTemporaryDirectory();
  stackOf(t).defer(() => removeTemporaryDirectory(dir));
  return dir;
}

/**
 * Detaches the loop devices of a directory; a device in use detaches with its last user. A device that is already
 * marked so is left alone: its name may belong to another test's file at any moment.
 */
export function detachLoopDevices(dir: string): void {
  detachAll(() => findLoopDevices(dir));
}

function detachAll(find: () => readonly LoopDevice[]): void {
  for (const { name } of find()) {
    if (isGoing(name)) continue;
    const { status, stderr } = spawnSync('losetup', ['--detach', name], { encoding: 'utf8' });
    // A device that was only marked for detaching may disappear meanwhile.
    if (status !== 0 && find().some(one => one.name === name)) throw new Error(stderr);
  }
}

function isGoing(device: string): boolean {
  try {
    return readFileSync(`/sys/block/${basename(device)}/loop/autoclear`, 'utf8') === '1\n';
  } catch {
    return true;
  }
}

/** A file in `directory`; inside the mount namespace its path is `at/name`. */
type IsolatedFile = { readonly directory: string; readonly at: string; readonly name: string };

/**
 * Sets up a loop device from inside a mount namespace of its own. The namespace lasts until `end` or the end of the
 * test; the device stays.
 */
export async function connectInOwnMounts(
  t: Pick<TestContext, 'after'>,
  { directory, at, name }: IsolatedFile,
): Promise<{ readonly device: string; end(): Promise<void> }> {
  const script = 'mount --make-rprivate / && mount --bind "$0" "$1" && losetup --find --show "$1/$2" && cat';
  const [unshare = '', ...apart] = inOwnMounts(directory);
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

/**
 * A script that unmounts other tests' mounts in a new namespace; the copies would keep their devices busy as long as
 * the namespace lives.
 */
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
 * The beginning of a command that runs in a mount namespace of its own, with the mounts of the test that `dir` belongs
 * to. `how` are further arguments of `unshare`.
 */
export function inOwnMounts(dir: string, how: readonly string[] = asMounted): readonly string[] {
  return ['unshare', '--mount', ...how, 'sh', '-c', forgetOthers, dir];
}

/** Mounts that tests made themselves and no agent has to remove. */
const ground = new Set<string>();

/** Bind-mounts a directory on itself with this propagation; the mount is removed with the test's directory. */
export function bindToItself(path: string, propagation: 'private' | 'shared'): void {
  execFileSync('mount', ['--bind', path, path]);
  execFileSync('mount', [`--make-${propagation}`, path]);
  ground.add(path);
}

/** Lists the mounts at or below a directory in mount order, except the mounts of `bindToItself`. */
export function mountsBelow(dir: string): readonly string[] {
  return allMountsBelow(dir).filter(path => !ground.has(path));
}

function allMountsBelow(dir: string): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map(line => line.split(' ')[4] ?? '')
    .filter(path => path === dir || path.startsWith(`${dir}/`));
}

/** Lists the loop devices whose file is below a directory by its path, or in its `images` by its inode. */
export function loopDevicesOf(dir: string): readonly string[] {
  return findLoopDevices(dir).map(({ name }) => name);
}

/** A loop device, and its file by its path and by its filesystem and inode. */
type LoopDevice = { readonly name: string; readonly file: string | undefined; readonly identity: string };

function findLoopDevices(dir: string): readonly LoopDevice[] {
  const images = join(dir, 'images');
  const names = existsSync(images) ? readdirSync(images) : [];
  const files = new Set(names.map(name => identityOf(join(images, name))));
  return listLoopDevices().filter(({ file, identity }) => files.has(identity) || file?.startsWith(`${dir}/`));
}

function listLoopDevices(): readonly LoopDevice[] {
  const columns = ['NAME', 'BACK-MAJ:MIN', 'BACK-INO', 'BACK-FILE'];
  const args = ['--list', '--raw', '--noheadings', '--output', columns.join()];
  const lines = execFileSync('losetup', args, { encoding: 'utf8' }).split('\n');
  return lines.map(line => {
    const [name = '', number, inode, file] = line.replaceAll('\\x20', ' ').split(/ +/);
    return { name, file, identity: `${number} ${inode}` };
  });
}

/** Undefined if the file was removed meanwhile. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return undefined;
  const { dev, ino } = found;
  return `${(dev >> 8) & 0xfff}:${dev & 0xff} ${ino}`;
}
