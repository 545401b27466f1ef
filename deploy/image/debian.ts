import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { ownArchitecture, type Architecture } from './architectures.ts';
import { companions, programs, unused } from './contents.ts';
import { walk } from './files.ts';

/** A Debian package, unpacked into its own directory. */
export type Package = { readonly name: string; readonly control: string; readonly directory: string };

/** A file of an unpacked package. */
type PackageFile = { readonly owner: Package; readonly source: string };

const options = {
  encoding: 'utf8',
  stdio: 'pipe',
  maxBuffer: 1 << 28,
  env: { ...process.env, LC_ALL: 'C' },
} as const;

/**
 * Downloads the packages of the image and their dependencies with this machine's apt settings, and returns the files.
 * Another architecture has package lists of its own in the cache.
 */
export function download(cache: string, architecture: Architecture): readonly string[] {
  const apt = aptOptions(cache, architecture);
  for (const folder of ['archives', 'lists']) mkdirSync(join(cache, folder, 'partial'), { recursive: true });
  const complete = (): readonly string[] => {
    const files = filesOf(cache, apt);
    if (!files.every(file => existsSync(file))) install(apt, '--download-only');
    return files.filter(file => !unused.test(basename(file))).sort();
  };
  try {
    return complete();
  } catch {
    // The package lists are missing, or name versions that the mirror has removed.
    execFileSync('apt-get', ['update', '-qq', ...apt], { ...options, stdio: 'inherit' });
    return complete();
  }
}

function aptOptions(cache: string, architecture: Architecture): readonly string[] {
  const settings = [`Dir::Cache=${cache}`, 'Debug::NoLocking=true'];
  if (architecture !== ownArchitecture) {
    const names = ['APT::Architecture', 'APT::Architectures'].map(name => `${name}=${architecture}`);
    settings.push(...names, `Dir::State::lists=${join(cache, 'lists')}`);
  }
  return settings.flatMap(one => ['-o', one]);
}

/** Lists the package files that apt would install, in its cache. */
function filesOf(cache: string, apt: readonly string[]): readonly string[] {
  const lines = install(apt, '--simulate').matchAll(/^Inst (\S+) \((\S+) .*\[(\w+)\]\)/gm);
  return [...lines].map(([, name, version = '', architecture]) =>
    join(cache, 'archives', `${name}_${version.replaceAll(':', '%3a')}_${architecture}.deb`),
  );
}

/** Runs `apt-get install` as on a machine without any packages, and returns its output. */
function install(apt: readonly string[], mode: '--simulate' | '--download-only'): string {
  const names = new Set([...Object.keys(programs), ...Object.keys(companions)]);
  const args = [
    'install',
    mode,
    '-qq',
    '--no-install-recommends',
    '-o',
    'Dir::State::status=/dev/null',
    ...apt,
  ];
  return execFileSync('apt-get', [...args, '--', ...names], options);
}

/** Unpacks packages, each into its own directory. */
export function unpack(files: readonly string[], into: string): readonly Package[] {
  mkdirSync(into, { recursive: true });
  return files.map(file => {
    const name = basename(file).split('_', 1)[0] ?? '';
    const directory = join(into, name);
    execFileSync('dpkg-deb', ['--extract', file, directory], options);
    return { name, control: execFileSync('dpkg-deb', ['--field', file], options), directory };
  });
}

/**
 * Copies the programs and their libraries, and the libraries of the programs in `others`, into the image's root. Returns the
 * packages whose files were copied, sorted by name, and records them in /var/lib/dpkg/status.d for security scanners.
 */
export function assemble(
  packages: readonly Package[],
  root: string,
  others: readonly string[],
): readonly Package[] {
  const index = indexOf(packages);
  const taken = new Map<string, PackageFile>();
  take(index, taken, wantedOf(index));
  takeLibraries(index, taken, others);
  takeCopyrights(index, taken);
  for (const [path, { source }] of taken) copy(source, join(root, path));
  const used = packages.filter(one => [...taken.values()].some(({ owner }) => owner === one));
  mkdirSync(join(root, 'var/lib/dpkg/status.d'), { recursive: true });
  for (const { name, control } of used) writeFileSync(join(root, 'var/lib/dpkg/status.d', name), control);
  return used;
}

type Index = ReadonlyMap<string, PackageFile>;

/** Indexes every file by its path in the image, where /bin, /sbin, /lib and /lib64 are links into /usr. */
function indexOf(packages: readonly Package[]): Index {
  return new Map(
    packages.flatMap(owner =>
      walk(owner.directory)
        .filter(path => !lstatSync(path).isDirectory())
        .map(source => [merged(source.slice(owner.directory.length + 1)), { owner, source }] as const),
    ),
  );
}

function merged(path: string): string {
  return path.replace(/^\/+/, '').replace(/^(bin|sbin|lib|lib64)\//, 'usr/$1/');
}

function wantedOf(index: Index): readonly string[] {
  const find = (name: string, owner: string): string => {
    const path = ['usr/bin', 'usr/sbin'].map(folder => `${folder}/${name}`).find(one => index.has(one));
    if (path === undefined) throw new Error(`package ${owner} has no program "${name}"`);
    return path;
  };
  return [
    ...Object.entries(programs).flatMap(([owner, names]) => names.map(name => find(name, owner))),
    ...Object.values(companions)
      .flat()
      .flatMap(name =>
        name.endsWith('/') ? [...index.keys()].filter(path => path.startsWith(name)) : [name],
      ),
  ];
}

/** Takes files, and the targets of links among them. */
function take(index: Index, taken: Map<string, PackageFile>, paths: readonly string[]): void {
  for (const path of paths) {
    const file = index.get(path);
    if (file === undefined) throw new Error(`no package has "${path}": change deploy/image/contents.ts`);
    if (taken.has(path)) continue;
    taken.set(path, file);
    const target = linkOf(file.source);
    if (target !== undefined) take(index, taken, [merged(posix.resolve('/', dirname(path), target))]);
  }
}

function linkOf(source: string): string | undefined {
  return lstatSync(source).isSymbolicLink() ? readlinkSync(source) : undefined;
}

/** Takes the libraries that the taken files and `others` need, directly or through other libraries. */
function takeLibraries(index: Index, taken: Map<string, PackageFile>, others: readonly string[]): void {
  const libraries = Map.groupBy(
    [...index.keys()].filter(path => /^usr\/lib(64)?(\/[^/]+-linux-gnu)?\/[^/]+$/.test(path)),
    path => basename(path),
  );
  const scanned = new Set<string>();
  for (let files = others; files.length > 0;) {
    for (const name of neededBy(files)) {
      const paths = libraries.get(name);
      if (paths === undefined) throw new Error(`no package has the library "${name}"`);
      take(index, taken, paths);
    }
    for (const file of files) scanned.add(file);
    files = [...taken.values()].map(({ source }) => source).filter(source => !scanned.has(source));
  }
}

/** Finds the names of the libraries that files are linked with. Files that are not ELF have none. */
function neededBy(files: readonly string[]): ReadonlySet<string> {
  const { stdout, error } = spawnSync('readelf', ['--dynamic', '--wide', '--', ...files], options);
  if (error) throw error;
  return new Set([...stdout.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, name = '']) => name));
}

/** Takes the copyright file of each package. Its directory may be a link to another package's. */
function takeCopyrights(index: Index, taken: Map<string, PackageFile>): void {
  for (const { name } of new Set([...taken.values()].map(({ owner }) => owner))) {
    const folder = `usr/share/doc/${name}`;
    const link = index.get(folder);
    if (link) taken.set(folder, link);
    const target = link && linkOf(link.source);
    const path = target === undefined ? folder : posix.join('usr/share/doc', target);
    take(index, taken, [`${path}/copyright`]);
  }
}

function copy(source: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const target = linkOf(source);
  if (target === undefined) copyFileSync(source, path);
  else symlinkSync(target, path);
}
