/** A virtual machine. A transient one has the same disks at its next start as it has now, but there is none. */
export type Domain = {
  readonly uuid: string;
  readonly name: string;
  readonly isRunning: boolean;
  /** What it is stays when it is off. */
  readonly isPersistent: boolean;
  /** The disks that it has now, none where it does not run. */
  readonly live: readonly PluggedDisk[];
  /** The disks that it has at its next start. */
  readonly next: readonly PluggedDisk[];
  /** The disks that it has once it goes on from where it was saved, instead of those; none where it was not. */
  readonly saved: readonly PluggedDisk[] | 'unreadable';
};

/** A disk by its name in the machine, such as `vdb`, and by the alias that whoever plugged it in chose. */
export type PluggedDisk = { readonly target: string; readonly alias?: string };

/** A disk to plug in. */
export type Disk = Required<PluggedDisk> & {
  readonly path: string;
  readonly serial: string;
  readonly readonly: boolean;
  /** Other machines may have it, too. */
  readonly shared: boolean;
};

/** The descriptions of a domain, as `virsh` gives them; `saved` is undefined where it was saved and that cannot be read. */
type Descriptions = {
  readonly live: string;
  readonly next: string;
  readonly saved: string | undefined;
  readonly isPersistent: boolean;
};

/** Reads what libvirt itself wrote: its own form, and nothing else. */
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

/** The description of a disk: a raw file behind virtio, whose unused blocks are given back. */
export function diskXml({ path, target, serial, alias, readonly, shared }: Disk): string {
  // Several machines that write see each other's bytes only past their caches.
  const cache = shared && !readonly ? " cache='none'" : '';
  return [
    "<disk type='file' device='disk'>",
    `<driver name='qemu' type='raw' discard='unmap'${cache}/>`,
    `<source file='${escape(path)}'/>`,
    `<target dev='${target}' bus='virtio'/>`,
    ...(readonly ? ['<readonly/>'] : []),
    // Without it QEMU lets nobody else write, who reads included.
    ...(shared ? ['<shareable/>'] : []),
    `<serial>${serial}</serial>`,
    `<alias name='${alias}'/>`,
    '</disk>',
  ].join('');
}

/** The first name of a virtio disk that none of these has. */
export function freeTarget(disks: readonly PluggedDisk[]): string {
  const taken = new Set(disks.map(({ target }) => target));
  for (let index = 0; ; index++) {
    const target = `vd${lettersOf(index)}`;
    if (!taken.has(target)) return target;
  }
}

/** As the kernel counts its disks: a to z, aa, ab and so on. */
function lettersOf(index: number): string {
  const rest = Math.floor(index / 26);
  return (rest > 0 ? lettersOf(rest - 1) : '') + String.fromCharCode(97 + (index % 26));
}

function parseDisks(description: string): readonly PluggedDisk[] {
  const elements = description.match(/<disk [^]*?<\/disk>/g) ?? [];
  return elements.map((element): PluggedDisk => {
    const [, target = ''] = /<target dev='([^']*)'/.exec(element) ?? [];
    const [, alias] = /<alias name='([^']*)'/.exec(element) ?? [];
    return alias === undefined ? { target } : { target, alias };
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
