import { join } from 'node:path';
import { capture } from './capture.ts';
import type { Namespace } from './namespace.ts';
import { runtimeSocket } from './node-files.ts';
import type { Program } from './program.ts';
import { waitFor } from './wait.ts';

export interface Containerd {
  readonly program: Program;
  /** Imports the images of an archive under its own names, for kubelet. */
  importImages(archive: string): Promise<void>;
  /** Gives an image another name. */
  tagImage(name: string, other: string): Promise<void>;
}

/** Starts containerd on a node; resolves once it answers. It finds its shims beside its own program. */
export async function startContainerd(node: Namespace, bin: string, settings: string): Promise<Containerd> {
  const path = `PATH=${bin}:${process.env['PATH'] ?? ''}`;
  const program = node.start('containerd', ['env', path, join(bin, 'containerd'), '--config', settings]);
  const ctr = (...args: readonly string[]) =>
    capture(node.enter([join(bin, 'ctr'), '--address', runtimeSocket, '--namespace', 'k8s.io', ...args]));
  await waitFor('containerd', () => ctr('version'), program);
  return {
    program,
    async importImages(archive) {
      await ctr('images', 'import', archive);
    },
    async tagImage(name, other) {
      await ctr('images', 'tag', name, other);
    },
  };
}
