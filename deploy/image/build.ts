import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { version } from '../../src/lib/version.ts';
import { announceSteps } from '../steps.ts';
import { architectures, ownArchitecture, type Architecture } from './architectures.ts';
import { sizeOf } from './files.ts';
import { pack, packSteps } from './pack.ts';
import { fillRoot, rootSteps } from './root.ts';

const usage = `Usage: npm run image [-- --out DIR] [--name NAME:TAG] [--arch amd64|arm64]

Builds the container image with all programs, without a daemon or a registry. Requires root and Debian 12 with apt-get, binutils
and tar.

  --out DIR    output directory; default: dist. image/ is an OCI layout, fairlead-VERSION.tar the same layout as one file
               for ctr, docker, podman and skopeo, and fairlead-VERSION.cdx.json the bill of materials
  --name NAME  name of the image; default: docker.io/library/fairlead:VERSION
  --arch ARCH  type of processors; default: this machine's. For another one, the names in DIR end with it (image-arm64/,
               fairlead-VERSION-arm64.tar), and the machine needs binutils for it, such as binutils-aarch64-linux-gnu
  --root DIR   only write the image's files to this directory, as the Dockerfile does
`;

/** Max sizes of the image, in bytes. */
const limits = { unpacked: 180e6, compressed: 65e6 };
type Sizes = Readonly<Partial<Record<keyof typeof limits, number>>>;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist' },
    name: { type: 'string', default: `docker.io/library/fairlead:${version}` },
    arch: { type: 'string', default: ownArchitecture as string },
    root: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const fromCaller = (path: string): string => resolve(process.env['INIT_CWD'] ?? '.', path);
const out = fromCaller(values.out);
const rootFromCaller = values.root === undefined ? undefined : fromCaller(values.root);
process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
if (values.help) process.stdout.write(usage);
else await build();

async function build(): Promise<void> {
  const architecture = architectures.find(one => one === values.arch);
  if (architecture === undefined)
    throw new Error(`--arch: "${values.arch}" is unknown; give ${architectures.join(' or ')}`);
  const work = mkdtempSync(join(tmpdir(), 'fairlead-image-'));
  try {
    const { digest, ...sizes } = buildIn(work, architecture);
    if (digest !== undefined) process.stdout.write(`${values.name}@${digest}\n`);
    report(sizes);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Builds the image, or only its root, and returns its sizes. */
function buildIn(work: string, architecture: Architecture): Sizes & { readonly digest?: string } {
  const cache = resolve(architecture === ownArchitecture ? '.cache/image' : `.cache/image-${architecture}`);
  const announce = announceSteps(rootSteps + (rootFromCaller === undefined ? packSteps : 0));
  const root = rootFromCaller ?? join(work, 'root');
  fillRoot(root, { architecture, cache, work, announce });
  const unpacked = sizeOf(root);
  if (rootFromCaller !== undefined) return { unpacked };
  const layers = join(cache, 'layers');
  return { unpacked, ...pack({ architecture, root, out, cache: layers, name: values.name, announce }) };
}

/** Prints the sizes of the image, and sets exit status 1 when one exceeds its limit. */
function report(sizes: Sizes): void {
  for (const [key, size] of Object.entries(sizes) as [keyof typeof limits, number][]) {
    const [actual, limit] = [size, limits[key]].map(bytes => (bytes / 1e6).toFixed(1));
    process.stdout.write(`${key}: ${actual} MB of at most ${limit} MB\n`);
    if (size > limits[key]) process.exitCode = 1;
  }
}
