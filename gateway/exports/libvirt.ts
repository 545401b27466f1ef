import { z } from 'zod';
import { readNodeId } from '../../src/api/ids.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { createKeyedQueue, poll } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import type { NodeAccess } from '../backend.ts';
import type { Export, ExportedAttachment, ExportPlugin } from '../export.ts';
import { openHypervisor, type Hypervisor } from './libvirt/virsh.ts';
import { freeTarget, type Domain, type PluggedDisk } from './libvirt/xml.ts';
import { createNames, type Names } from './targets/names.ts';
import { exportTargets, type TargetDriver } from './targets/targets.ts';

const settings = z.strictObject({
  protocol: z
    .literal('libvirt')
    .describe('nodes are virtual machines of this machine, which disks are plugged into'),
  uri: z.string().min(1).optional().describe('where libvirt is; without it qemu:///system'),
  domain: z
    .string()
    .min(1)
    .optional()
    .describe(
      'what the virtual machine of a node is called, with {node} for its name, {cluster}, and a key of its topology in braces; without it {node}',
    ),
  fence: z
    .literal('power')
    .optional()
    .describe(
      'a virtual machine that does not give a disk back is powered off; without it the volume stays attached',
    ),
});
type Settings = Pick<z.output<typeof settings>, 'domain' | 'fence'>;

/** Volumes as disks of the virtual machines that are the nodes, on the hypervisor that has the files. */
export const libvirt: ExportPlugin<typeof settings> = {
  settings,
  async open({ uri = 'qemu:///system', ...chosen }, { log, poolKey }) {
    const hypervisor = openHypervisor(uri);
    return {
      ...exportLibvirt(chosen, { hypervisor, names: createNames(await poolKey()), log }),
      async check() {
        const fault = await hypervisor.fault();
        return fault === undefined ? [] : [fault];
      },
    };
  },
};

/** What the export works with; how long a machine may take to give a disk back once it was asked, in milliseconds. */
export type LibvirtParts = {
  readonly hypervisor: Hypervisor;
  readonly names: Names;
  readonly log: Log;
  readonly patienceMs?: number;
};

/** The export over a hypervisor. */
export function exportLibvirt({ domain: template = '{node}', fence }: Settings, parts: LibvirtParts): Export {
  const { hypervisor, names, log, patienceMs = 10_000 } = parts;
  const inTurn = createKeyedQueue();
  const serialOf = (volume: ExportedAttachment['volume']): string =>
    names.identityOf(volume).slice(0, serialLength);

  async function findDomain(name: string): Promise<Domain> {
    const domain = (await hypervisor.domains()).find(one => one.name === name);
    if (!domain) throw preconditionProblem(`no virtual machine here is called "${name}"`);
    return domain;
  }

  async function plug(
    domainName: string,
    name: string,
    { volume, access }: ExportedAttachment,
  ): Promise<void> {
    const found = await findDomain(domainName);
    // Forgotten, and not given back yet: the machine may do that at any moment, also after it was said to have the disk.
    const isLeaving = found.isPersistent && found.live.some(isNamed(name)) && !found.next.some(isNamed(name));
    if (isLeaving) await unplug(found, name);
    const domain = isLeaving ? await findDomain(domainName) : found;
    const { isRunning, isPersistent, live, next } = domain;
    const [now, later] = [live, next].map(disks => disks.find(isNamed(name)));
    // One that is off has it once it starts.
    if (isPersistent ? later && (now || !isRunning) : now) return;
    if (!isRunning) throw unavailableProblem(`the virtual machine "${domainName}" does not run`);
    const target = (now ?? later)?.target ?? freeTarget([...live, ...next]);
    const disk = {
      alias: aliasOf(name),
      target,
      path: volume.path,
      serial: serialOf(volume),
      readonly: access.readonly,
      shared: access.capability.accessMode.startsWith('MULTI_NODE_'),
    };
    const said = await hypervisor.plug(domain, disk, { live: !now, next: isPersistent && !later });
    if (!(await findDomain(domainName)).live.some(isNamed(name)))
      throw unavailableProblem(
        `the disk cannot be plugged into the virtual machine "${domainName}": ${said}`,
      );
  }

  /**
   * UNAVAILABLE, with nothing changed, while the machine would have the disk again by going on from what was kept of it, which
   * is its owner's: the disk stays in its description as well, so that it is found.
   */
  async function requireNotSaved(domain: Domain, name: string): Promise<void> {
    const { name: machine, saved } = domain;
    if (saved === 'unreadable')
      throw unavailableProblem(`what the virtual machine "${machine}" was saved with cannot be read`);
    if (saved.some(isNamed(name)))
      throw unavailableProblem(
        `the virtual machine "${machine}" was saved with the disk: start it, or drop what was saved with "virsh managedsave-remove ${machine}"`,
      );
    const snapshots = await hypervisor.snapshotsWith(domain, aliasOf(name));
    if (snapshots.length > 0)
      throw unavailableProblem(
        `the virtual machine "${machine}" has the disk in its snapshots "${snapshots.join('", "')}": delete them with "virsh snapshot-delete ${machine}"`,
      );
  }

  /** Undefined once neither the machine, nor its description, nor what it was saved with has the disk. */
  async function findHolder({ uuid }: Domain, name: string): Promise<Domain | undefined> {
    return (await hypervisor.domains()).find(domain => domain.uuid === uuid && hasDisk(domain, name));
  }

  async function unplug(domain: Domain, name: string): Promise<void> {
    await requireNotSaved(domain, name);
    const alias = aliasOf(name);
    const said = [
      // First: whatever becomes of the machine, it does not start with the disk.
      domain.next.some(isNamed(name)) ? await hypervisor.forget(domain, alias) : '',
      domain.live.some(isNamed(name)) ? await hypervisor.unplug(domain, alias) : '',
    ];
    const look = async (): Promise<true | undefined> =>
      (await findHolder(domain, name)) === undefined ? true : undefined;
    if (await poll(look, { everyMs: 200, timeoutMs: patienceMs })) return;
    const state = await hypervisor.state(domain);
    if (fence === 'power') {
      log.warn('a virtual machine that does not give a disk back is powered off', {
        detail: `"${domain.name}" is ${state}`,
      });
      said.push(await hypervisor.powerOff(domain));
      if ((await findHolder(domain, name)) === undefined) return;
    }
    const reason = [`it is ${state}`, ...said.filter(Boolean)].join('; ');
    throw unavailableProblem(`the virtual machine "${domain.name}" has not given the disk back: ${reason}`);
  }

  const driver: TargetDriver = {
    protocol: 'device',
    noun: 'disk of a virtual machine',
    prepare: async () => {},
    list: async () => (await hypervisor.domains()).flatMap(namesIn),
    make(name, target) {
      const domainName = domainOf(template, target.access);
      return inTurn(domainName, () => plug(domainName, name, target));
    },
    async remove(name) {
      const holders = (await hypervisor.domains()).filter(domain => hasDisk(domain, name));
      for (const domain of holders) await inTurn(domain.name, () => unplug(domain, name));
    },
    async resize(name, { sizeBytes }) {
      for (const domain of await hypervisor.domains())
        for (const { target } of domain.live.filter(isNamed(name)))
          await hypervisor.resize(domain, target, sizeBytes);
    },
    reach: (_, { volume }) => ({ protocol: 'device', serial: serialOf(volume) }),
  };
  return exportTargets(driver, { names, log });
}

/** What a virtio disk says of itself at the most. */
const serialLength = 20;

/** An alias that libvirt keeps as it is; it takes no dots. */
const prefix = 'ua-fairlead-';

function aliasOf(name: string): string {
  return `${prefix}${name.replaceAll('.', '_')}`;
}

function isNamed(name: string): (disk: { readonly alias?: string }) => boolean {
  return ({ alias }) => alias === aliasOf(name);
}

function disksOf({ live, next, saved }: Domain): readonly PluggedDisk[] {
  return [...live, ...next, ...(saved === 'unreadable' ? [] : saved)];
}

function hasDisk(domain: Domain, name: string): boolean {
  return disksOf(domain).some(isNamed(name));
}

function namesIn(domain: Domain): readonly string[] {
  return disksOf(domain)
    .map(({ alias = '' }) => alias)
    .filter(alias => alias.startsWith(prefix))
    .map(alias => alias.slice(prefix.length).replaceAll('_', '.'));
}

function domainOf(template: string, { nodeId, cluster = '', topology = {} }: NodeAccess): string {
  const known: Readonly<Record<string, string>> = { ...topology, node: readNodeId(nodeId).name, cluster };
  return template.replaceAll(/\{([^{}]+)\}/g, (_, key: string) => {
    const value = known[key];
    if (value === undefined) throw preconditionProblem(`node "${nodeId}" has no topology "${key}"`);
    return value;
  });
}
