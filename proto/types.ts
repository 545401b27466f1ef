// Makes the TypeScript types in src/csi/generated from the .proto files beside this one. They are in git.
// node proto/types.ts           writes them
// node proto/types.ts --check   writes nothing; exits 1 and names the files that are out of date

import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readProto, services } from './read.ts';

const target = join(import.meta.dirname, '../src/csi/generated');
const tool = fileURLToPath(import.meta.resolve('@grpc/proto-loader/build/bin/proto-loader-gen-types.js'));
const options =
  '--keepCase --longs=String --enums=String --defaults --oneofs --includeComments --grpcLib=@grpc/grpc-js --importFileExtension=.ts';

const wanted = new Map(Object.keys(services).flatMap(typesOf));
const found = globSync('*/**/*.ts', { cwd: target });
if (process.argv.includes('--check')) check();
else write();

/** Generates each file that the services need, by path. */
function typesOf(proto: string): readonly (readonly [path: string, text: string])[] {
  const work = mkdtempSync(join(tmpdir(), 'fairlead-types-'));
  try {
    const argv = [tool, ...options.split(' '), '-I', import.meta.dirname, '-O', work, '--', proto];
    execFileSync(process.execPath, argv);
    const { needed } = readProto(proto);
    const paths = new Set(needed.map(({ fullName }) => `${fullName.slice(1).replaceAll('.', '/')}.ts`));
    return globSync('*/**/*.ts', { cwd: work })
      .filter(path => paths.has(path))
      .map(path => [path, toShort(proto, readFileSync(join(work, path), 'utf8'))]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Shortens comments of one line to one line, and removes this machine's paths. */
function toShort(proto: string, text: string): string {
  return text
    .replace(/^\/\/ Original file: .*\n+/, `// Generated from proto/${proto}. Do not edit.\n\n`)
    .replaceAll(/^\/\/ Original file: .*\n+/gm, '')
    .replaceAll(/\/\*\*\n\s*\* (.*)\n\s*\*\//g, '/** $1 */');
}

function write(): void {
  for (const path of found) rmSync(join(target, path));
  for (const [path, text] of wanted) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), text);
  }
}

function check(): void {
  const stale = [...new Set([...wanted.keys(), ...found])].filter(
    path => !found.includes(path) || readFileSync(join(target, path), 'utf8') !== wanted.get(path),
  );
  if (stale.length === 0) return;
  process.stderr.write(`out of date, run "npm run generate": ${stale.sort().join(', ')}\n`);
  process.exitCode = 1;
}
