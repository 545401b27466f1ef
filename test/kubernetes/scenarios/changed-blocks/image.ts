import { copyFileSync, mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { values } from '../../../../deploy/values/values.ts';
import { packImages } from '../../build/images.ts';
import { run } from '../../build/run.ts';
import type { Node } from '../../cluster/node.ts';

const checkout = resolve(import.meta.dirname, '../../../..');
const node = realpathSync(process.execPath);

/** The image of the backup program; its entrypoint is the stand-in of the sidecar. */
const image = 'docker.io/library/changed-blocks:1';
export const backupContainer = { image, command: [node, '/backup.mjs'] };

/**
 * Gives nodes the image of the backup program and the chart's image of the sidecar: the stand-in, or the sidecar itself from
 * the archive that TEST_SNAPSHOT_METADATA_IMAGE names.
 */
export async function importPrograms(directory: string, nodes: readonly Node[]): Promise<void> {
  const archive = await buildImage(directory);
  const { repository, tag } = values.parse({}).sidecars.snapshotMetadata.image;
  const sidecar = process.env['TEST_SNAPSHOT_METADATA_IMAGE'];
  for (const { containerd } of nodes) {
    await containerd.importImages(archive);
    if (sidecar === undefined) await containerd.tagImage(image, `${repository}:${tag}`);
    else await containerd.importImages(sidecar);
  }
}

/** Makes the image from this process's Node.js and the programs of this folder, and returns the path of its archive. */
async function buildImage(directory: string): Promise<string> {
  const root = join(directory, 'root');
  mkdirSync(root, { recursive: true });
  await build({
    entryPoints: ['stand-in.ts', 'backup.ts'],
    absWorkingDir: import.meta.dirname,
    outdir: root,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    // CommonJS packages load the modules of Node.js with `require`, which no ES module has.
    banner: { js: "import{createRequire as $r}from'node:module';const require=$r(import.meta.url);" },
    logLevel: 'error',
  });
  for (const path of ['proto/csi.proto', 'test/kubernetes/scenarios/changed-blocks/snapshot-metadata.proto'])
    copyFileSync(join(checkout, path), join(root, path.split('/').at(-1) ?? ''));
  const libraries = [...run('ldd', [node]).matchAll(/\/\S+/g)].map(([path]) => path);
  run('cp', ['--dereference', '--parents', node, ...libraries, root]);
  const archive = join(directory, 'image.tar');
  packImages(archive, [{ name: image, root, config: { Entrypoint: [node, '/stand-in.mjs'] } }]);
  return archive;
}
