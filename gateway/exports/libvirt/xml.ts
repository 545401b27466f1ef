import { ioLimitNames, type IoLimits } from '../../../src/api/attachments/io-limits.ts';
import type { VolumeKind } from '../../export.ts';

/** A virtual machine. A transient machine has no next start, and its description has the disks that it has now. */
export type Domain = {
  readonly uuid: string;
  readonly name: string;
  readonly isRunning: boolean;
  /** True if its description remains when it is off. */
  readonly isPersistent: boolean;
  /** The disks at present; none when it is not running. */
  readonly live: readonly PluggedDisk[];
  /** The disks at its next start. */
  readonly next: readonly PluggedDisk[];
  /** The disks in its saved state, which replace the others when it resumes; none without a saved state. */
  readonly saved: readonly PluggedDisk[] | 'unreadable';
};

/** A disk by its name in the machine, such as `vdb`, the alias that it was plugged in with, and its limits of I/O. */
export type PluggedDisk = { readonly target: string; readonly alias?: string; readonly limits: IoLimits };

export type Disk = Required<Omit<PluggedDisk, 'limits'>> & {
  readonly limits: IoLimits | undefined;
  readonly path: string;
  readonly kind: VolumeKind;
  readonly serial: string;
  readonly readonly: boolean;
  /** True if other machines may have it too. */
  readonly shared: boolean;
};

/** The descriptions of a domain from `virsh`. `saved` is undefined for a saved state that cannot be read. */
type Descriptions = {
  readonly live: string;
  readonly next: string;
  readonly saved: string | undefined;
  readonly isPersistent: boolean;
};

/** Parses descriptions in libvirt's own format, and no other. */
export function parseDomain({ live, next, saved, isPersistent }: Descriptions): Domain {
  const isRunning = /^<domain [^>]*\bid='/.test(live);
  return {
    uuid: textOf(live, 'uuid'),
    name: textOf(live, 'name'),
    isRunning,
    isPersistent,
    live: isRunning ? parseDisks(live) : [],
    next: isPersistent ? parseDisks(next) : [],
    saved: saved === undefined ? 'unreadable' : parseDisks(saved),
  };
}

/** Formats a disk's description: a raw file or device behind virtio that discards unused blocks. */
export function diskXml({ path, kind, target, serial, alias, readonly, shared, limits }: Disk): string {
  const [type, source] = kind === 'file' ? ['file', 'file'] : ['block', 'dev'];
  // Machines that write to one disk see each other's bytes only without a cache.
  const cache = shared && !readonly ? " cache='none'" : '';
  return [
    `<disk type='${type}' device='disk'>`,
    `<driver name='qemu' type='raw' discard='unmap'${cache}/>`,
    `<source ${source}='${escape(path)}'/>`,
    `<target dev='${target}' bus='virtio'/>`,
    ...(readonly ? ['<readonly/>'] : []),
    // Without this QEMU locks the file against every other writer, even for a reader.
    ...(shared ? ['<shareable/>'] : []),
    `<serial>${serial}</serial>`,
    ...tuneXml(limits),
    `<alias name='${alias}'/>`,
    '</disk>',
  ].join('');
}

/** libvirt's names of the limits, without the direction. */
const tunes = { iops: 'iops_sec', bytesPerSecond: 'bytes_sec' } as const;
const directions = ['read', 'write'] as const;

/** Lists libvirt's names of all limits with their values; 0 is no limit. */
export function tunesOf(limits: IoLimits = {}): readonly (readonly [name: string, value: number])[] {
  return ioLimitNames.flatMap(name =>
    directions.map(direction => [`${direction}_${tunes[name]}`, limits[name] ?? 0] as const),
  );
}

function tuneXml(limits: IoLimits | undefined): readonly string[] {
  const set = tunesOf(limits).filter(([, value]) => value > 0);
  if (set.length === 0) return [];
  return ['<iotune>', ...set.map(([name, value]) => `<${name}>${value}</${name}>`), '</iotune>'];
}

function limitsIn(element: string): IoLimits {
  const entries = ioLimitNames.flatMap(name => {
    const [, value] = new RegExp(`<write_${tunes[name]}>(\\d+)<`).exec(element) ?? [];
    return value === undefined ? [] : [[name, Number(value)] as const];
  });
  return Object.fromEntries(entries);
}

export function freeTarget(disks: readonly Pick<PluggedDisk, 'target'>[]): string {
  const taken = new Set(disks.map(({ target }) => target));
  for (let index = 0; ; index++) {
    const target = `vd${lettersOf(index)}`;
    if (!taken.has(target)) return target;
  }
}

/** Counts as the kernel does: a to z, aa, ab and so on. */
function lettersOf(index: number): string {
  const rest = Math.floor(index / 26);
  return (rest > 0 ? lettersOf(rest - 1) : '') + String.fromCharCode(97 + (index % 26));
}

function parseDisks(description: string): readonly PluggedDisk[] {
  const elements = description.match(/<disk [^]*?<\/disk>/g) ?? [];
  return elements.map((element): PluggedDisk => {
    const [, target = ''] = /<target dev='([^']*)'/.exec(element) ?? [];
    const [, alias] = /<alias name='([^']*)'/.exec(element) ?? [];
    const limits = limitsIn(element);
    return alias === undefined ? { target, limits } : { target, alias, limits };
  });
}

function textOf(description: string, element: string): string {
  const [, text = ''] = new RegExp(`^  <${element}>([^<]*)</${element}>`, 'm').exec(description) ?? [];
  return text.replaceAll(/&(lt|gt|quot|apos|amp);/g, (_, name: keyof typeof entities) => entities[name]);
}

const entities = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' } as const;

function escape(text: string): string {
  const codes = Object.entries(entities);
  return text.replaceAll(/[<>"'&]/g, found => `&${codes.find(([, value]) => value === found)?.[0]};`);
}
