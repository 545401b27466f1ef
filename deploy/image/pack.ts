import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../src/lib/version.ts';
import type { NextStep } from '../steps.ts';
import { ownArchitecture, type Architecture } from './architectures.ts';
import { home, runtime, sbomPath, user } from './contents.ts';
import { createLayout } from './layout.ts';

/** The image's files, its output directory and its name. `cache` is a directory for compressed layers. */
type PackOptions = {
  readonly architecture: Architecture;
  readonly root: string;
  readonly out: string;
  readonly cache: string;
  readonly name: string;
  readonly announce: NextStep;
};

/** The number of steps that `pack` announces. */
export const packSteps = 2;

/** A packed image: the digest of its manifest, and the bytes of its compressed layers. */
type PackResult = { readonly digest: string; readonly compressed: number };

/** Packs the files of a root as an OCI layout, as the same layout in one file, and writes the bill of materials. */
export function pack({ architecture, root, out, cache, name, announce }: PackOptions): PackResult {
  const suffix = architecture === ownArchitecture ? '' : `-${architecture}`;
  const directory = join(out, `image${suffix}`);
  rmSync(directory, { recursive: true, force: true });
  const layout = createLayout(directory, cache);
  const node = ['usr/local/bin/node', 'usr/share/doc/node'];
  const own = ['usr/local/bin/fairlead', home, sbomPath];
  const state = 'var/lib/fairlead';
  // Layers that change seldom come first, so that an update of the others does not pull them again.
  const contents = [
    { root, paths: readdirSync(root).sort(), exclude: [...node, ...own, state] },
    { root, paths: node },
    { root, paths: [state], user },
    { root, paths: own },
  ];
  announce('the compression of the layers');
  const layers = contents.map(content => layout.addLayer(content));
  announce('the archive of the image');
  const digest = layout.addImage(name, { config: describeImage(architecture), layers });
  const stem = join(out, `fairlead-${version}${suffix}`);
  cpSync(join(root, sbomPath), `${stem}.cdx.json`);
  const archive = ['--create', '--file', `${stem}.tar`, '--sort=name', '--mtime=@0', '--format=ustar'];
  const owner = ['--numeric-owner', '--owner=:0', '--group=:0', '--mode=u=rwX,go=rX'];
  execFileSync('tar', [...archive, ...owner, '--directory', directory, '--', '.']);
  return { digest, compressed: layers.reduce((sum, { blob }) => sum + blob.size, 0) };
}

/** Makes the image's configuration. The creation time is SOURCE_DATE_EPOCH, or the time of the last commit. */
function describeImage(architecture: Architecture): object {
  const labels = {
    title: 'Fairlead',
    description: 'A remote CSI gateway: gateway, controller and node agent',
    licenses: 'Apache-2.0',
    version,
    revision: git('rev-parse', 'HEAD'),
  };
  const known = Object.entries(labels).filter(([, text]) => text !== '');
  const seconds = process.env['SOURCE_DATE_EPOCH'] ?? git('log', '-1', '--format=%ct');
  return {
    created: new Date(Number(seconds) * 1000).toISOString(),
    architecture,
    os: 'linux',
    config: {
      ...runtime,
      Labels: Object.fromEntries(known.map(([key, text]) => [`org.opencontainers.image.${key}`, text])),
    },
  };
}

/** Returns the output of git; empty outside a repository. */
function git(...args: readonly string[]): string {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '';
}
