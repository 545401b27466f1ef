import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { inOwnMounts } from '../harness/machine.ts';

/** An image's manifest in the format of `docker load`. */
type Manifest = { readonly Config: string; readonly Layers: readonly string[] };

/** The parts of an image's configuration that a runtime uses. */
export type ImageConfig = {
  readonly architecture: string;
  readonly config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Entrypoint: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
  };
};

/** Unpacks an image's layers over each other, as a runtime does, and returns its configuration. */
export function unpackImage(archive: string, root: string): ImageConfig {
  const layout = `${root}-layout`;
  for (const path of [layout, root]) mkdirSync(path, { recursive: true });
  execFileSync('tar', ['--extract', '--file', archive, '--directory', layout]);
  const [manifest] = JSON.parse(readFileSync(join(layout, 'manifest.json'), 'utf8')) as [Manifest];
  for (const layer of manifest.Layers)
    execFileSync('tar', [
      '--extract',
      '--file',
      join(layout, layer),
      '--directory',
      root,
      '--same-permissions',
    ]);
  return JSON.parse(readFileSync(join(layout, manifest.Config), 'utf8')) as ImageConfig;
}

/** A container: the unpacked image, its user, and the only writable directory, at its own path. */
export type ContainerOptions = {
  readonly root: string;
  readonly user: number;
  readonly directory: string;
  readonly environment: readonly string[];
};

/** A script that mounts the image read-only in a new namespace, with a runtime's mounts, and runs its arguments. */
const script = `set -eu
root=$1 user=$2 directory=$3; shift 3
mount --make-rprivate /
mount --bind "$root" "$root" && mount -o remount,bind,ro "$root"
mount -t tmpfs none "$root/tmp"
mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" && mount -t proc none "$root/proc"
mkdir -p "$root$directory" && mount --rbind "$directory" "$root$directory"
exec chroot --userspec="$user:$user" "$root" /usr/bin/env -i \${NODE_CHANNEL_FD:+NODE_CHANNEL_FD=$NODE_CHANNEL_FD} "$@"`;

function commandLine({ root, user, directory, environment }: ContainerOptions, argv: readonly string[]) {
  const [unshare = '', ...apart] = inOwnMounts(directory);
  const inside = ['sh', '-c', script, 'sh', root, String(user), directory, ...environment, ...argv];
  return [unshare, [...apart, ...inside]] as const;
}

/** Runs a command in the image and returns its output. */
export function runInImage(options: ContainerOptions, argv: readonly string[]): string {
  return execFileSync(...commandLine(options, argv), {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Starts a program in the image and returns its ready line; the program ends with the test. */
export async function startInImage(
  t: Pick<TestContext, 'after'>,
  options: ContainerOptions,
  argv: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const child: ChildProcess = spawn(...commandLine(options, argv), {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const ended = once(child, 'close');
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  t.after(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return new Promise((resolve, reject) => {
    child.once('message', message => resolve((message as { ready: Record<string, string> }).ready));
    void ended.then(() => reject(new Error(`${argv.join(' ')} ended: ${errors}`)));
  });
}
