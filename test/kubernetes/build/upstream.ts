import { copyFileSync, mkdirSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildTools, go } from './go-tools.ts';
import { fillTestRoot, packImages } from './images.ts';
import { run } from './run.ts';

/** The programs and images of Kubernetes' suite for external storage. */
export const upstreamFiles: readonly string[] = ['ginkgo', 'external-storage.test', 'sshd', 'upstream.tar'];

/** Builds the suite, ginkgo, which runs it, a server for SSH, and images with the names that the suite asks for. */
export function buildUpstream(into: string, busybox: string): void {
  buildTools('upstream', into);
  go(
    'upstream',
    'test',
    '-c',
    '-vet=off',
    '-trimpath',
    '-ldflags=-s -w',
    '-o',
    join(into, 'external-storage.test'),
    '.',
  );
  go('upstream', 'build', '-trimpath', '-ldflags=-s -w', '-o', join(into, 'sshd'), './sshd');
  makeImages(into, busybox);
  unlinkSync(join(into, 'agnhost'));
}

/** Builds the CSI driver that Kubernetes' suite tests Kubernetes with. */
export function buildMockDriver(into: string): void {
  const output = join(into, 'mock-driver');
  go('upstream', 'build', '-trimpath', '-ldflags=-s -w', '-o', output, './mock-driver');
}

const registry = 'registry.k8s.io/e2e-test-images';

/** Makes the images from busybox, the suite's own program agnhost, and the machine's shell and dd. */
function makeImages(into: string, busybox: string): void {
  const roots = Object.fromEntries(
    ['busybox', 'agnhost', 'glibc'].map(name => [name, join(into, `${name}-root`)]),
  );
  for (const root of Object.values(roots)) fillTestRoot(root, busybox);
  const { busybox: plain = '', agnhost = '', glibc = '' } = roots;
  copyFileSync(join(into, 'agnhost'), join(agnhost, 'agnhost'));
  // The suite writes with dd's flag nocache, which busybox lacks, and busybox's shell runs no dd but its own.
  for (const program of ['dash', 'dd']) copyWithLibraries(program, glibc);
  rmSync(join(glibc, 'bin/sh'));
  symlinkSync('dash', join(glibc, 'bin/sh'));
  // The suite also runs commands of the node with this path.
  const config = { Cmd: ['sh'], Env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'] };
  packImages(join(into, 'upstream.tar'), [
    ...['busybox:1.37.0-1', 'nginx:1.15-4', 'nginx:1.27-0'].map(name => ({
      name: `${registry}/${name}`,
      root: plain,
      config,
    })),
    {
      name: `${registry}/agnhost:2.63.0`,
      root: agnhost,
      config: { ...config, Entrypoint: ['/agnhost'], Cmd: ['pause'] },
    },
    { name: `${registry}/glibc-dns-testing:2.0.0`, root: glibc, config },
  ]);
  for (const root of Object.values(roots)) rmSync(root, { recursive: true });
}

/** Copies a program of this machine to `bin`, and its libraries to their own paths. */
function copyWithLibraries(program: string, root: string): void {
  const path = `/bin/${program}`;
  rmSync(join(root, path), { force: true });
  copyFileSync(path, join(root, path));
  for (const [library] of run('ldd', [path]).matchAll(/\/\S+/g)) {
    mkdirSync(dirname(join(root, library)), { recursive: true });
    copyFileSync(library, join(root, library));
  }
}
