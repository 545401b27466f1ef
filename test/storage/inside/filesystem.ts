import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Backend, VolumeRef } from '../../../gateway/backend.ts';
import { backends } from '../../../gateway/backends/index.ts';
import { poll, withinTime } from '../../../src/lib/concurrency.ts';
import { openPlugin } from '../../harness/gateway/open-plugin.ts';
import { contentOf } from '../../suites/backend-fixtures.ts';
import { ask, settings, users } from './cluster.ts';

const waiting = { everyMs: 100, timeoutMs: 60_000 };
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The user that mounts a part of the cluster's filesystem, and its claimed name. */
export type Login = {
  readonly user: string;
  readonly keyring: string;
  readonly path: string;
  readonly claims?: string;
};

/** A client of the filesystem outside of the kernel: its mount point and its process. */
export type Client = { readonly directory: string; readonly process: ChildProcess };

/** Mounts a part of the filesystem until the test ends; returns undefined if the cluster refuses it. */
export async function mount(
  t: Pick<TestContext, 'after'>,
  { user, keyring, path, claims = user }: Login,
): Promise<Client | undefined> {
  const directory = mkdtempSync(join(tmpdir(), 'files-'));
  const who = ['--id', user, '--keyring', keyring, '--client_fs', 'files', '--client_mountpoint', path];
  const says = ['--client_metadata', `entity_id=${claims}`, '--client_mount_timeout', '15'];
  const process = spawn('ceph-fuse', ['-f', ...who, ...says, directory], {
    stdio: 'ignore',
  });
  const ended = once(process, 'exit');
  t.after(async () => {
    // The client ends gracefully, because the resources of a dead client are blocked for a minute. A client that was
    // shut out may not end.
    process.kill('SIGTERM');
    if (!(await withinTime(ended, 10_000))) process.kill('SIGKILL');
    await ended;
    spawnSync('umount', ['--lazy', '--', directory]);
    rmSync(directory, { recursive: true });
  });
  const isMounted = () =>
    readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${directory} `) ||
    process.exitCode !== null ||
    undefined;
  assert.ok(await poll(isMounted, waiting));
  return process.exitCode === null ? { directory, process } : undefined;
}

/** Writes a keyring for a user with this key; it is removed with the test. */
export function writeKeyring(t: Pick<TestContext, 'after'>, user: string, key: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'user-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const keyring = join(directory, 'keyring');
  writeFileSync(keyring, `[client.${user}]\n\tkey = ${key}\n`, { mode: 0o600 });
  return keyring;
}

/** The user whose key permits everything. */
export const everything: Login = { user: settings.user, keyring: settings.keyring, path: '/' };

/** Finds the suite's file in a volume of the cluster `a`, below a mount of the whole filesystem. */
export function contentIn(root: string) {
  return contentOf(id => {
    const group = join(root, 'volumes/fairlead.a');
    const names = readdirSync(group).filter(name => name.slice(0, name.lastIndexOf('.')) === id);
    const found = names.flatMap(name =>
      readdirSync(join(group, name)).flatMap(one => (uuid.test(one) ? [join(group, name, one, 'data')] : [])),
    );
    const [path, ...others] = found;
    assert.ok(path !== undefined && others.length === 0, `${id}: ${found.join()}`);
    return path;
  });
}

/** The settings of the test gateway's filesystem, with a user that has the documented rights. */
export const shareSettings = {
  conf: settings.conf,
  capacity: settings.capacity,
  user: 'gateway',
  keyring: openGateway(),
  filesystem: 'files',
} as const;

/** The backend on the filesystem, opened once. */
export const shares: Promise<Backend> = openPlugin(backends.ceph, shareSettings);

function openGateway(): string {
  const keyring = join(dirname(settings.conf), 'gateway.keyring');
  const caps = ['mon', 'allow *', 'mgr', 'allow rw', 'mds', 'allow *'];
  const made = spawnSync('ceph', ['auth', 'get-or-create', 'client.gateway', ...caps, '-o', keyring]);
  assert.equal(made.status, 0, String(made.stderr));
  return keyring;
}

/** Opens the backend, and deletes a test's volumes at its end; the whole filesystem is mounted at `root`. */
export async function openShares(t: Pick<TestContext, 'after'>, root: string): Promise<Backend> {
  const backend = await shares;
  t.after(async () => {
    const volumes = subvolumesIn(root);
    await Promise.all(volumes.map(volume => backend.delete(volume)));
    if (volumes.length === 0) return;
    const ids = await Array.fromAsync<string>(backend.snapshots?.list?.() ?? []);
    await Promise.all(ids.map(id => backend.snapshots?.delete({ id })));
  });
  return backend;
}

function subvolumesIn(root: string): readonly Required<VolumeRef>[] {
  const group = join(root, 'volumes/fairlead.a');
  const names = existsSync(group) ? readdirSync(group) : [];
  return names.map(name => {
    const end = name.lastIndexOf('.');
    return { id: name.slice(0, end), nonce: name.slice(end + 1) };
  });
}

/** Fails if subvolumes, notes or users are left. */
export function requireNoShares(): void {
  const groups = ask<readonly { readonly name: string }[]>('ceph fs subvolumegroup ls files');
  for (const { name } of groups) assert.deepEqual(ask(`ceph fs subvolume ls files ${name}`), []);
  const notes = Object.keys(ask<object>('ceph config-key dump fairlead.fs/'));
  assert.deepEqual([notes.filter(key => key !== 'fairlead.fs/files/owner'), users()], [[], []]);
}

/** Returns the current size of a file in bytes. */
export function sizeIn(directory: string, name: string): number {
  const path = join(directory, name);
  return existsSync(path) ? readFileSync(path).length : 0;
}
