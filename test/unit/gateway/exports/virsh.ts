import { readFileSync } from 'node:fs';
import type { Virsh } from '../../../../gateway/exports/libvirt/virsh.ts';

/** A virtual machine; its disks are represented by their descriptions. */
type FakeDomain = {
  readonly uuid: string;
  readonly name: string;
  isRunning: boolean;
  readonly isPersistent: boolean;
  /** True if it never answers a request for a disk. */
  isStill: boolean;
  live: string[];
  next: string[];
  /** The disks of its saved state, or `unreadable`. */
  saved?: readonly string[] | 'unreadable';
  snapshots: Readonly<Record<string, readonly string[]>>;
};

/** Creates a virsh as far as the export depends on it; calls `step` before each command. */
export function createVirsh({ step = (): void => {} } = {}) {
  const domains: FakeDomain[] = [];
  const ran: string[] = [];
  const find = (uuid = ''): FakeDomain | undefined => domains.find(domain => domain.uuid === uuid);

  /** Returns the output of a reading command; undefined if it fails. */
  function print(line: string): string | undefined {
    const [command = '', ...words] = line.split(' ');
    if (command === 'list') return `${domains.map(({ uuid, name }) => `${uuid} ${name}`).join('\n')}\n\n`;
    const domain = find(words.at(-1));
    if (!domain) return undefined;
    const { isPersistent, saved } = domain;
    if (command === 'dominfo')
      return `Persistent:     ${isPersistent ? 'yes' : 'no'}\nAutostart:      disable\nManaged save:   ${saved ? 'yes' : 'no'}\n\n`;
    if (command === 'managedsave-dumpxml')
      return Array.isArray(saved) ? describe({ ...domain, next: saved }, true) : undefined;
    return describe(domain, words.includes('--inactive'));
  }

  function change([command = '', ...words]: readonly string[]): string | undefined {
    const [flags, [uuid = '', ...operands]] = [
      words.slice(0, words.indexOf('--')),
      words.slice(words.indexOf('--') + 1),
    ];
    const domain = find(uuid);
    if (!domain) return undefined;
    if (command.startsWith('snapshot-')) return printSnapshots(domain, operands[0]);
    ran.push(`${command} ${flags.join(' ')} ${domain.name}`.replaceAll('  ', ' '));
    const scopes = [
      ...(flags.includes('--live') ? ['live' as const] : []),
      ...(flags.includes('--config') ? ['next' as const] : []),
    ];
    if (command === 'attach-device') return plug(domain, scopes, readFileSync(operands[0] ?? '', 'utf8'));
    if (command === 'detach-device-alias') return unplug(domain, scopes, operands[0] ?? '');
    if (command === 'domstate') return domain.isRunning ? 'paused (user)\n' : 'shut off (destroyed)\n';
    if (command === 'destroy') [domain.isRunning, domain.live] = [false, []];
    else ran.push(operands.join(' '));
    return '';
  }

  const virsh: Virsh = async ([, , , ...args]) => {
    step();
    const lines = args[0]?.startsWith('list') ? args[0]?.split('; ') : undefined;
    const outputs = lines ? lines.map(print) : [change(args)];
    // A batch continues after a failed command.
    const isDone = outputs.at(-1) !== undefined;
    return {
      status: isDone ? 0 : 1,
      stdout: outputs.join(''),
      stderr: isDone ? '' : 'error: it failed\n',
      timedOut: false,
    };
  };
  return {
    virsh,
    domains,
    /** The changes and requests, as `COMMAND FLAGS DOMAIN`, with the arguments of resizing. */
    ran,
    add(name: string, domain: Partial<FakeDomain> = {}): FakeDomain {
      const uuid = crypto.randomUUID();
      const added = {
        uuid,
        name,
        isRunning: true,
        isPersistent: true,
        isStill: false,
        live: [],
        next: [],
        snapshots: {},
        ...domain,
      };
      domains.push(added);
      return added;
    },
  };
}

function printSnapshots({ snapshots }: FakeDomain, name?: string): string | undefined {
  return name === undefined ? `${Object.keys(snapshots).join('\n')}\n\n` : snapshots[name]?.join('\n');
}

type Scopes = readonly ('live' | 'next')[];

function plug(domain: FakeDomain, scopes: Scopes, description: string): string | undefined {
  const [, target = ''] = /<target dev='(\w+)'/.exec(description) ?? [];
  const [, source = ''] = /<source (?:file|dev)='([^']*)'/.exec(description) ?? [];
  const isTaken = scopes.some(scope => domain[scope].some(other => other.includes(`'${target}'`)));
  if (isTaken || source.includes('missing') || (scopes.includes('next') && !domain.isPersistent))
    return undefined;
  for (const scope of scopes) domain[scope].push(description);
  return '';
}

function unplug(domain: FakeDomain, scopes: Scopes, alias: string): string | undefined {
  if (!scopes.every(scope => domain[scope].some(disk => disk.includes(alias)))) return undefined;
  for (const scope of scopes)
    if (scope === 'next' || !domain.isStill)
      domain[scope] = domain[scope].filter(disk => !disk.includes(alias));
  return '';
}

/** Describes a machine in libvirt's format; a machine's own elements stay in its description. */
function describe(
  {
    uuid,
    name,
    isRunning,
    isPersistent,
    live,
    next,
  }: Omit<FakeDomain, 'next'> & { readonly next: readonly string[] },
  isNext: boolean,
): string {
  const isLive = isRunning && !(isNext && isPersistent);
  return `<domain type='kvm'${isLive && !isNext ? " id='1'" : ''}>
  <name>${name.replaceAll('&', '&amp;')}</name>
  <uuid>${uuid}</uuid>
  <description>a &lt;disk type='file'></description>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <target dev='vda' bus='virtio'/>
    </disk>
    ${(isLive ? live : next).join('\n    ')}
    <controller type='pci' index='0' model='pcie-root'/>
  </devices>
</domain>

`;
}
