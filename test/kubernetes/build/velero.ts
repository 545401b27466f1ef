import { copyFileSync, mkdirSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { buildTools, toolVersions } from './go-tools.ts';
import { fillTestRoot, packImages } from './images.ts';

/** The command of Velero, its images, and the server of objects that it stores backups in. */
export const veleroFiles: readonly string[] = ['velero', 'velero.tar', 'versitygw'];

const plugin = 'velero-plugin-for-aws';

/** Builds Velero with its plug-in, images of both with the names of their releases, and the server of objects. */
export function buildVelero(into: string, busybox: string): void {
  buildTools('velero', into);
  buildTools('object-store', into);
  const images = Object.entries(toolVersions('velero')).map(([tool, version]) => {
    const root = join(into, `${tool}-root`);
    fillTestRoot(root, busybox);
    const path = tool === plugin ? join('plugins', tool) : tool;
    mkdirSync(join(root, 'plugins'));
    copyFileSync(join(into, tool), join(root, path));
    // Velero starts the image of a plug-in to copy the plug-in into its own pod.
    const config = tool === plugin ? { Entrypoint: ['/bin/cp', `/${path}`, '/target/'] } : {};
    return { name: `docker.io/velero/${tool}:${version}`, root, config: { Env: ['PATH=/bin'], ...config } };
  });
  packImages(join(into, 'velero.tar'), images);
  for (const { root } of images) rmSync(root, { recursive: true });
  unlinkSync(join(into, plugin));
}
