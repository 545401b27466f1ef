// Usage: node deploy/release/keep.ts dist/fairlead-VERSION.tgz
// Keeps a release for the tests of two versions side by side, in place of the one before: only its programs, without types and
// examples.

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { basename, resolve } from 'node:path';

const [, , file] = process.argv;
if (file === undefined)
  throw new Error('name the package: node deploy/release/keep.ts dist/fairlead-VERSION.tgz');
const folder = new URL('../../test/releases/', import.meta.url).pathname;
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const script = `work=$(mktemp -d); trap 'rm -rf -- "$work"' EXIT
tar --extract --file "$1" --directory "$work" package/lib package/package.json
tar --create --sort=name --mtime=@0 --numeric-owner --owner=0 --group=0 --directory "$work" package | gzip -9 --no-name >"$2"`;
execFileSync('bash', ['-euo', 'pipefail', '-c', script, '-', resolve(file), `${folder}${basename(file)}`]);
