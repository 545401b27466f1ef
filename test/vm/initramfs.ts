import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pathOf, type Kernel } from './packages.ts';

/** The modules for access to this machine's files and for the reports of the tests. */
const wanted = ['virtio_pci', '9pnet_virtio', '9p', 'overlay', 'virtio_console'];
const directories = ['dev', 'modules', 'host', 'packages', 'memory', 'root'];

/** Makes the initramfs in cpio's "newc" format: `init.sh`, a shell, and a few modules. */
export function makeInitramfs(kernel: Kernel): Buffer {
  const init = fileURLToPath(new URL('init.sh', import.meta.url));
  const modules = modulesInOrder(kernel).map((path, index) => ({
    name: `modules/${String(index).padStart(2, '0')}-${path.slice(path.lastIndexOf('/') + 1)}`,
    mode: 0o100644,
    data: readFileSync(join(kernel.modules, path)),
  }));
  const entries = [
    ...directories.map(name => ({ name, mode: 0o40755, data: Buffer.alloc(0) })),
    { name: 'init', mode: 0o100755, data: readFileSync(init) },
    { name: 'busybox', mode: 0o100755, data: readFileSync(pathOf('usr/bin/busybox')) },
    ...modules,
    { name: 'TRAILER!!!', mode: 0, data: Buffer.alloc(0) },
  ];
  return Buffer.concat(entries.flatMap(toNewc));
}

type Entry = { readonly name: string; readonly mode: number; readonly data: Buffer };

function toNewc({ name, mode, data }: Entry, index: number): readonly Buffer[] {
  const nameSize = Buffer.byteLength(name) + 1;
  const [inode, owner, group, links, time, device, checksum] = [index + 1, 0, 0, 1, 0, 0, 0];
  const fields = [inode, mode, owner, group, links, time, data.length, device, 0, 0, 0, nameSize, checksum];
  const head = `070701${fields.map(field => field.toString(16).padStart(8, '0')).join('')}${name}\0`;
  return [padded(Buffer.from(head)), padded(data)];
}

function padded(data: Buffer): Buffer {
  return Buffer.concat([data, Buffer.alloc((4 - (data.length % 4)) % 4)]);
}

/** Orders modules after the modules that they need. Modules built into the kernel are in no list. */
function modulesInOrder({ modules }: Kernel): readonly string[] {
  const needs = new Map(
    readFileSync(join(modules, 'modules.dep'), 'utf8')
      .trim()
      .split('\n')
      .map(line => line.split(/:\s*/))
      .map(([path = '', rest = '']) => [path, rest.split(' ').filter(Boolean)] as const),
  );
  const ordered = wanted.flatMap(name => {
    const path = [...needs.keys()].find(known => known.replace(/^.*\/|\.ko(\.\w+)?$/g, '') === name);
    return path === undefined ? [] : [path, ...(needs.get(path) ?? [])].toReversed();
  });
  return [...new Set(ordered)];
}
