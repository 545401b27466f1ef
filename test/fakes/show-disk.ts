import type { SysfsHost } from './sysfs.ts';

let used = 0;

/** Shows a disk under its name: its size and its identifiers, as files below its directory in /sys/block. */
export function showDisk(
  host: SysfsHost,
  { name, sizeBytes }: { readonly name: string; readonly sizeBytes: number },
  facts: Readonly<Record<string, string>> = {},
): void {
  const place = `/sys/block/${name}`;
  const all = { dev: `8:${++used}`, size: String(sizeBytes / 512), ro: '0', ...facts };
  for (const [file, text] of Object.entries(all)) host.put(`${place}/${file}`, text);
}
