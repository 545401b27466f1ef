import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { announceSteps } from '../steps.ts';
import { architectures, requireStrip } from '../image/architectures.ts';
import { findHelm } from '../render.ts';
import { packageChart } from './chart.ts';
import { buildDebianPackage } from './debian-package.ts';
import { buildPackage } from './package.ts';

const usage = `Usage: npm run release [-- --out DIR] [--arch amd64|arm64 …] [--without-image]

Builds everything that users install, all of one version, and SHA256SUMS of it: the npm package, the Debian package, the chart,
the OpenAPI documents, the container image and its bill of materials. docs/releasing.md is the procedure. Requires root and
Debian 12 with apt-get, tar, and binutils for each type of processors.

  --out DIR        output directory, which is emptied first; default: dist
  --arch ARCH      type of processors for images and Debian packages; default: amd64 and arm64
  --without-image  leaves out the container image and its bill of materials
`;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist' },
    'without-image': { type: 'boolean', default: false },
    arch: { type: 'string', multiple: true, default: [...architectures] },
    help: { type: 'boolean', default: false },
  },
});
const unknown = values.arch.find(name => !architectures.some(one => one === name));
if (unknown !== undefined)
  throw new Error(`--arch: "${unknown}" is unknown; give ${architectures.join(' or ')}`);
const chosen = architectures.filter(one => values.arch.includes(one));
const out = resolve(process.env['INIT_CWD'] ?? '.', values.out);
process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
if (values.help) process.stdout.write(usage);
else await release();

async function release(): Promise<void> {
  for (const architecture of chosen) requireStrip(architecture);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const files = await buildPackage(out);
  packageOthers(files);
  rmSync(files, { recursive: true });
  for (const name of ['openapi.json', 'vendor-openapi.json'])
    cpSync(`docs/reference/${name}`, join(out, name));
  if (!values['without-image'])
    for (const architecture of chosen)
      run(process.execPath, 'deploy/image/build.ts', '--out', out, '--arch', architecture);
  // The image's files are also in the archive.
  for (const directory of globSync(join(out, 'image*'))) rmSync(directory, { recursive: true });
  writeSums();
}

/** Builds the Debian packages, from the files of the npm package, and the chart. */
function packageOthers(files: string): void {
  const announce = announceSteps(chosen.length + 1);
  for (const architecture of chosen) {
    announce(`the Debian package for ${architecture}`);
    buildDebianPackage(files, out, architecture);
  }
  announce('the chart');
  run('deploy/fetch-helm.sh');
  const helm = findHelm();
  if (helm === undefined) throw new Error('the chart is packaged by Helm: set HELM to its path');
  packageChart(helm, out);
}

/** Writes the checksums in the form that `sha256sum --check` reads, and lists the files. */
function writeSums(): void {
  const names = readdirSync(out).sort();
  const sums = names.map(name => {
    const content = readFileSync(join(out, name));
    return `${createHash('sha256').update(content).digest('hex')}  ${name}\n`;
  });
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
  for (const name of [...names, 'SHA256SUMS'])
    process.stdout.write(`${join(out, name)}: ${statSync(join(out, name)).size} bytes\n`);
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}
