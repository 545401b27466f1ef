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
import { companions, programs, unused } from './contents.ts';
import { walk } from './files.ts';

/** A package, unpacked into a directory of its own. */
export type Package = { readonly name: string; readonly control: string; readonly directory: string };

/** A file of a package: where it lies unpacked, and in the image. */
type Owned = { readonly owner: Package; readonly source: string };

const options = {
  encoding: 'utf8',
  stdio: 'pipe',
  maxBuffer: 1 << 28,
  env: { ...process.env, LC_ALL: 'C' },
} as const;

/** Downloads what the image is made of, and all that it depends on, as the machine's own apt is set up. */
export function download(cache: string): readonly string[] {
  mkdirSync(join(cache, 'archives/partial'), { recursive: true });
  const complete = (): readonly string[] => {
    const files = filesOf(cache);
    if (!files.every(file => existsSync(file))) install(cache, '--download-only');
    return files.filter(file => !unused.test(basename(file))).sort();
  };
  try {
    return complete();
  } catch {
    // Its lists are missing, or name what is there no more.
    execFileSync('apt-get', ['update', '-qq'], { ...options, stdio: 'inherit' });
    return complete();
  }
}

/** Where apt keeps the packages that it would install. */
function filesOf(cache: string): readonly string[] {
  const lines = install(cache, '--simulate').matchAll(/^Inst (\S+) \((\S+) .*\[(\w+)\]\)/gm);
  return [...lines].map(([, name, version = '', architecture]) =>
    join(cache, 'archives', `${name}_${version.replaceAll(':', '%3a')}_${architecture}.deb`),
  );
}

/** Has apt install as on a machine where nothing is installed yet. */
function install(cache: string, how: '--simulate' | '--download-only'): string {
  const settings = ['Dir::State::status=/dev/null', `Dir::Cache=${cache}`, 'Debug::NoLocking=true'];
  const names = new Set([...Object.keys(programs), ...Object.keys(companions)]);
  const args = ['install', how, '-qq', '--no-install-recommends', ...settings.flatMap(one => ['-o', one])];
  return execFileSync('apt-get', [...args, '--', ...names], options);
}

/** Unpacks packages, each below a directory of its own. */
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
 * Puts the programs with their libraries, and those of `others`, into the image's root, and returns the packages that
 * anything came from, in the order of their names. Scanners find them in /var/lib/dpkg/status.d.
 */
export function assemble(
  packages: readonly Package[],
  root: string,
  others: readonly string[],
): readonly Package[] {
  const index = indexOf(packages);
  const taken = new Map<string, Owned>();
  take(index, taken, wantedOf(index));
  takeLibraries(index, taken, others);
  takeCopyrights(index, taken);
  for (const [path, { source }] of taken) copy(source, join(root, path));
  const used = packages.filter(one => [...taken.values()].some(({ owner }) => owner === one));
  mkdirSync(join(root, 'var/lib/dpkg/status.d'), { recursive: true });
  for (const { name, control } of used) writeFileSync(join(root, 'var/lib/dpkg/status.d', name), control);
  return used;
}

type Index = ReadonlyMap<string, Owned>;

/** Every file by its path in the image, where /bin, /sbin, /lib and /lib64 are links into /usr. */
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

/** Takes files, and what those that are links lead to. */
function take(index: Index, taken: Map<string, Owned>, paths: readonly string[]): void {
  for (const path of paths) {
    const owned = index.get(path);
    if (owned === undefined) throw new Error(`no package has "${path}"`);
    if (taken.has(path)) continue;
    taken.set(path, owned);
    const target = linkOf(owned.source);
    if (target !== undefined) take(index, taken, [merged(posix.resolve('/', dirname(path), target))]);
  }
}

function linkOf(source: string): string | undefined {
  return lstatSync(source).isSymbolicLink() ? readlinkSync(source) : undefined;
}

/** Takes the libraries of what was taken, and those that they need in turn. */
function takeLibraries(index: Index, taken: Map<string, Owned>, others: readonly string[]): void {
  const libraries = Map.groupBy(
    [...index.keys()].filter(path => /^usr\/lib(64)?(\/[^/]+-linux-gnu)?\/[^/]+$/.test(path)),
    path => basename(path),
  );
  const looked = new Set<string>();
  for (let files = others; files.length > 0;) {
    for (const name of neededBy(files)) {
      const paths = libraries.get(name);
      if (paths === undefined) throw new Error(`no package has the library "${name}"`);
      take(index, taken, paths);
    }
    for (const file of files) looked.add(file);
    files = [...taken.values()].map(({ source }) => source).filter(source => !looked.has(source));
  }
}

/** The names of the libraries that files are linked with; what is no program has none. */
function neededBy(files: readonly string[]): ReadonlySet<string> {
  const { stdout, error } = spawnSync('readelf', ['--dynamic', '--wide', '--', ...files], options);
  if (error) throw error;
  return new Set([...stdout.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, name = '']) => name));
}

/** A package's documents may be a link to another's. */
function takeCopyrights(index: Index, taken: Map<string, Owned>): void {
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
