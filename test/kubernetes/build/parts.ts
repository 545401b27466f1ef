import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { announceSteps } from '../../../deploy/steps.ts';
import { makeSidecarImages, makeTestImages } from './images.ts';
import { unpackLayer, layer } from './layer.ts';
import { debianPackages, unpackPackages } from './debian.ts';
import { buildTools, copyCustomResources, copyStages, toolsOf } from './go-tools.ts';
import { buildMockDriver, buildUpstream, upstreamFiles } from './upstream.ts';
import { buildVelero, veleroFiles } from './velero.ts';

/** A build step: the files that it makes, the pins that determine them, and a function that fills a directory. */
type Part = {
  readonly makes: readonly string[];
  readonly pins: readonly string[];
  /** True if the part is built only by its name, for a test that few runs need. */
  readonly isExtra?: boolean;
  build(into: string, directory: string): void;
};

const textOf = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8');

const pinsOf = (module: string) => [textOf(`${module}/go.mod`), textOf(`${module}/go.sum`)];

/** The oldest and the newest version of Kubernetes that the chart is for. */
export const otherVersions = ['1.34', '1.37'] as const;

/** Names the part, and the directory, with the programs of another version of Kubernetes than the usual one. */
export const partOf = (version: string): string => `kubernetes-${version}`;

const otherKubernetes = (version: string): Part => {
  const [module, name] = [`kubernetes/${version}`, partOf(version)];
  return {
    makes: [name],
    pins: pinsOf(module),
    isExtra: true,
    build: into => buildTools(module, join(into, name)),
  };
};

/** The parts, quick ones first; a part may use the files of earlier parts. */
const parts: Readonly<Record<string, Part>> = {
  debian: {
    makes: Object.values(debianPackages).flatMap(paths => paths.map(path => basename(path))),
    pins: [JSON.stringify(debianPackages)],
    build: into => unpackPackages(into),
  },
  images: {
    makes: ['images.tar'],
    pins: [textOf('images.ts')],
    build: (into, directory) => makeTestImages(into, join(directory, 'busybox')),
  },
  layer: {
    makes: ['kubectl', 'helm'],
    pins: [layer],
    build: (into, directory) => unpackLayer(into, join(directory, 'busybox')),
  },
  crds: { makes: ['crds'], pins: pinsOf('sidecars'), build: into => copyCustomResources('sidecars', into) },
  kubernetes: {
    makes: toolsOf('kubernetes'),
    pins: pinsOf('kubernetes'),
    build: into => buildTools('kubernetes', into),
  },
  sidecars: {
    makes: toolsOf('sidecars'),
    pins: pinsOf('sidecars'),
    build: into => buildTools('sidecars', into),
  },
  'sidecar-images': {
    makes: ['sidecars.tar'],
    pins: [...pinsOf('sidecars'), textOf('images.ts')],
    build: (into, directory) => makeSidecarImages(into, directory),
  },
  upstream: {
    makes: upstreamFiles,
    pins: [
      ...pinsOf('upstream'),
      ...['upstream/suite_test.go', 'upstream/sshd/main.go', 'upstream.ts', 'images.ts'].map(textOf),
    ],
    build: (into, directory) => buildUpstream(into, join(directory, 'busybox')),
  },
  'mock-driver': {
    makes: ['mock-driver'],
    pins: [...pinsOf('upstream'), textOf('upstream/mock-driver/main.go')],
    build: into => buildMockDriver(into),
  },
  velero: {
    makes: veleroFiles,
    pins: [...['velero', 'object-store'].flatMap(pinsOf), ...['velero.ts', 'images.ts'].map(textOf)],
    isExtra: true,
    build: (into, directory) => buildVelero(into, join(directory, 'busybox')),
  },
  kwok: {
    makes: ['kwok', 'kwok-stages.yaml'],
    pins: pinsOf('kubernetes/kwok'),
    isExtra: true,
    build(into) {
      buildTools('kubernetes/kwok', into);
      copyStages('kubernetes/kwok', into);
    },
  },
  ...Object.fromEntries(otherVersions.map(version => [partOf(version), otherKubernetes(version)])),
};

const usualParts = Object.keys(parts).filter(name => parts[name]?.isExtra !== true);

/**
 * Builds the parts that are missing or were built from other pins; by default all except extra ones. Throws the error
 * of the first failure.
 */
export async function buildParts(directory: string, names: readonly string[]): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const chosen = (names.length > 0 ? names : usualParts).map(name => {
    const part = parts[name];
    if (part === undefined) throw new Error(`no part "${name}": ${Object.keys(parts).join(', ')}`);
    return { name, part };
  });
  const missing = chosen.filter(({ name, part }) => !isBuilt(directory, name, part));
  if (missing.length === 0) return;
  const announce = announceSteps(missing.length);
  for (const { name, part } of missing) {
    announce(`the build of ${name} for the test clusters`);
    buildPart(directory, name, part);
  }
}

/**
 * Lists the programs of these parts, by default of all except extra ones, that a directory lacks, however the present
 * ones came there.
 */
export function missingPrograms(directory: string, names: readonly string[] = usualParts): readonly string[] {
  const made = names.flatMap(name => parts[name]?.makes ?? []);
  return made.filter(name => !existsSync(join(directory, name)));
}

/** Returns true if a part is up to date. Programs without a stamp, which others put there, count as such. */
function isBuilt(directory: string, name: string, { makes }: Part): boolean {
  const stamp = stampOf(directory, name);
  if (!existsSync(stamp)) return makes.every(file => existsSync(join(directory, file)));
  return readFileSync(stamp, 'utf8') === digestOf(name);
}

/** Builds a part and replaces each file at once: a running program keeps the file that it was started from. */
function buildPart(directory: string, name: string, part: Part): void {
  const draft = mkdtempSync(join(directory, '.draft-'));
  try {
    part.build(draft, directory);
    for (const file of readdirSync(draft)) {
      rmSync(join(directory, file), { recursive: true, force: true });
      renameSync(join(draft, file), join(directory, file));
    }
    writeFileSync(stampOf(directory, name), digestOf(name));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

const stampOf = (directory: string, name: string) => join(directory, `.built-${name}`);

const digestOf = (name: string) =>
  createHash('sha256').update(JSON.stringify(parts[name]?.pins)).digest('hex');
