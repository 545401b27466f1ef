import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { toolVersions } from './go-tools.ts';
import { run } from './run.ts';

export const testImage = 'docker.io/library/busybox:1.35';
/** The image of the container that holds a pod's namespaces. */
export const pauseImage = 'registry.k8s.io/pause:3.10';

const sleep = ['/bin/busybox', 'sleep', '2147483647'];

/** Makes the images of busybox and pause as the archive `images.tar`, in the format of `ctr images import`. */
export function makeTestImages(into: string, busybox: string): void {
  const root = join(into, 'root');
  fillTestRoot(root, busybox);
  packImages(join(into, 'images.tar'), [
    { name: testImage, root, config: { Cmd: ['/bin/sh'], Env: ['PATH=/bin'] } },
    { name: pauseImage, root, config: { Cmd: sleep } },
  ]);
  rmSync(root, { recursive: true });
}

/** Makes an image of each sidecar, with the names and versions of their releases, as the archive `sidecars.tar`. */
export function makeSidecarImages(into: string, directory: string): void {
  const images = Object.entries(toolVersions('sidecars')).map(([tool, version]) => {
    const root = join(into, tool);
    mkdirSync(root);
    copyFileSync(join(directory, tool), join(root, tool));
    return {
      name: `registry.k8s.io/sig-storage/${tool}:${version}`,
      root,
      config: { Entrypoint: [`/${tool}`] },
    };
  });
  packImages(join(into, 'sidecars.tar'), images);
  for (const { root } of images) rmSync(root, { recursive: true });
}

/** An image of one layer: its name, its files, and the configuration of its containers. */
type Image = { readonly name: string; readonly root: string; readonly config: object };

/** Writes images as an OCI layout in one file. */
export function packImages(archive: string, images: readonly Image[]): void {
  const layout = `${archive}.layout`;
  const blobs = join(layout, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  const add = (type: string, content: Buffer) => {
    const digest = createHash('sha256').update(content).digest('hex');
    writeFileSync(join(blobs, digest), content);
    return {
      mediaType: `application/vnd.oci.image.${type}`,
      digest: `sha256:${digest}`,
      size: content.length,
    };
  };
  const addJson = (type: string, value: object) => add(`${type}+json`, Buffer.from(JSON.stringify(value)));
  const manifests = images.map(({ name, root, config }) => {
    const layer = add('layer.v1.tar', makeLayer(root));
    const rootfs = { type: 'layers', diff_ids: [layer.digest] };
    const described = addJson('config.v1', { architecture: 'amd64', os: 'linux', config, rootfs });
    const manifest = addJson('manifest.v1', { schemaVersion: 2, config: described, layers: [layer] });
    return { ...manifest, annotations: { 'io.containerd.image.name': name } };
  });
  writeFileSync(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  run('tar', ['--create', '--file', archive, '--directory', layout, '.']);
  rmSync(layout, { recursive: true });
}

function makeLayer(root: string): Buffer {
  const file = `${root}.tar`;
  const anonymous = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name', '--mtime=@0'];
  run('tar', ['--create', '--file', file, '--directory', root, ...anonymous, '.']);
  const content = readFileSync(file);
  rmSync(file);
  return content;
}

/** Fills a root directory with busybox under all its names. */
export function fillTestRoot(root: string, busybox: string): void {
  for (const name of ['bin', 'etc', 'proc', 'sys', 'dev', 'tmp', 'var', 'root'])
    mkdirSync(join(root, name), { recursive: true });
  chmodSync(join(root, 'tmp'), 0o1777);
  copyFileSync(busybox, join(root, 'bin', 'busybox'));
  for (const name of run(busybox, ['--list'])
    .split('\n')
    .filter(applet => applet !== 'busybox'))
    symlinkSync('busybox', join(root, 'bin', name));
  writeFileSync(join(root, 'etc', 'passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
}
