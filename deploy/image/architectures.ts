import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };

/** The types of processors that are built for, by Debian's names, with the names in npm's packages and in binutils. */
const known = {
  amd64: { npm: 'x64', binutils: 'x86_64-linux-gnu' },
  arm64: { npm: 'arm64', binutils: 'aarch64-linux-gnu' },
} as const;

export type Architecture = keyof typeof known;

export const architectures = Object.keys(known) as readonly Architecture[];

/** The type of this machine's processor. */
export const ownArchitecture: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** The directory of a Node.js, as in its npm package, and the command that removes symbols from its program. */
export type NodeRelease = { readonly directory: string; readonly strip: string };

/** Finds the Node.js of an architecture: the one that `npm ci` has installed, or else one that npm fetches once into `cache`. */
export function findNode(architecture: Architecture, cache: string): NodeRelease {
  const { npm } = known[architecture];
  const strip = stripOf(architecture);
  if (architecture === ownArchitecture)
    return { directory: `node_modules/node/node_modules/node-linux-${npm}`, strip };
  const release = `node-linux-${npm}@${packageJson.dependencies.node}`;
  const directory = join(cache, release);
  if (!existsSync(directory)) fetchNode(release, directory);
  return { directory, strip };
}

function fetchNode(release: string, directory: string): void {
  mkdirSync(join(directory, '..'), { recursive: true });
  const draft = mkdtempSync(`${directory}-`);
  try {
    execFileSync('npm', ['pack', '--silent', '--pack-destination', draft, release], { stdio: 'ignore' });
    execFileSync('sh', ['-c', 'tar --extract --file "$1"/*.tgz --directory "$1"', '-', draft]);
    renameSync(join(draft, 'package'), directory);
  } finally {
    rmSync(draft, { recursive: true });
  }
}

/** Throws if the command that `copyNodeProgram` needs is missing. */
export function requireStrip(architecture: Architecture): void {
  runStrip(stripOf(architecture), '--version');
}

/** Copies the program of a Node.js without debugging symbols. */
export function copyNodeProgram({ directory, strip }: NodeRelease, path: string): void {
  runStrip(strip, '-o', path, '--', join(directory, 'bin/node'));
}

function stripOf(architecture: Architecture): string {
  return architecture === ownArchitecture ? 'strip' : `${known[architecture].binutils}-strip`;
}

function runStrip(strip: string, ...words: readonly string[]): void {
  try {
    execFileSync(strip, words, { stdio: ['ignore', 'ignore', 'inherit'] });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const packageName = strip === 'strip' ? 'binutils' : `binutils-${strip.replace('-strip', '')}`;
    throw new Error(`${strip} is missing: install the package ${packageName}`, { cause: error });
  }
}
