import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { readNodeId } from '../../src/api/ids.ts';
import type { IoLimits } from '../../src/api/attachments/io-limits.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { createKeyedQueue, poll } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import {
  takesWrites,
  type Export,
  type ExportedAttachment,
  type ExportPlugin,
  type VolumeKind,
} from '../export.ts';
import { openHypervisor, type Hypervisor } from './libvirt/virsh.ts';
import { freeTarget, type Domain, type PluggedDisk } from './libvirt/xml.ts';
import { createNames, type Names } from '../local/targets/names.ts';
import { exportTargets, type TargetDriver } from '../local/targets/targets.ts';

const settings = z.strictObject({
  protocol: z
    .literal('libvirt')
    .describe('plugs volumes as disks into virtual machines of this machine, which are the nodes'),
  uri: z.string().min(1).optional().describe('URI of libvirt; default: qemu:///system'),
  domain: z
    .string()
    .min(1)
    .optional()
    .describe(
      "name of a node's virtual machine, with {node}, {cluster} and keys of the node's topology in braces; default: {node}",
    ),
  fence: z
    .literal('power')
    .optional()
    .describe(
      'powers off a virtual machine that does not release a disk; without it the volume stays attached',
    ),
});
type Settings = Pick<z.output<typeof settings>, 'domain' | 'fence'>;

/** Exports volumes as disks of the virtual machines that are the nodes, on the hypervisor with the files or devices. */
export const libvirt: ExportPlugin<typeof settings> = {
  settings,
  protocolOf: () => 'device',
  kindsOf: () => ['file', 'device'],
  async open({ uri = 'qemu:///system', ...chosen }, { log, kind, poolKey }) {
    const hypervisor = openHypervisor(uri);
    return {
      ...exportLibvirt(chosen, { hypervisor, names: createNames(await poolKey()), log, kind }),
      async check() {
        const fault = await hypervisor.fault();
        return fault === undefined ? [] : [fault];
      },
    };
  },
};

/**
 * The parts of the export. `patienceMs` is the time for a machine to release a disk after the request, in
 * milliseconds.
 */
type LibvirtParts = {
  readonly hypervisor: Hypervisor;
  readonly names: Names;
  readonly log: Log;
  readonly kind: VolumeKind;
  readonly patienceMs?: number;
};

export function exportLibvirt({ domain: template = '{node}', fence }: Settings, parts: LibvirtParts): Export {
  const { hypervisor, names, log, kind, patienceMs = 10_000 } = parts;
  const runInQueue = createKeyedQueue();
  const serialOf = (volume: ExportedAttachment['volume']): string =>
    names.identityOf(volume).slice(0, serialLength);

  async function findDomain(name: string): Promise<Domain> {
    const domain = (await hypervisor.domains()).find(one => one.name === name);
    if (!domain)
      throw preconditionProblem(
        `this hypervisor has no virtual machine "${name}"; set "domain" to the pattern of their names`,
      );
    return domain;
  }

  async function plug(
    domainName: string,
    name: string,
    { volume, access }: ExportedAttachment,
  ): Promise<void> {
    const found = await findDomain(domainName);
    // The disk is no longer in the machine's description but not released yet. The machine may release it at any
    // moment, even after it was observed, so the release is awaited first.
    const isLeaving = found.isPersistent && found.live.some(isNamed(name)) && !found.next.some(isNamed(name));
    if (isLeaving) await unplug(found, name);
    const domain = isLeaving ? await findDomain(domainName) : found;
    const { isRunning, isPersistent, live, next } = domain;
    const [now, later] = [live, next].map(disks => disks.find(isNamed(name)));
    await tune(domain, { now, later }, access.limits);
    // A machine that is off gets the disk from its description at its next start.
    if (isPersistent ? later && (now || !isRunning) : now) return;
    if (!isRunning) throw unavailableProblem(`the virtual machine "${domainName}" is not running; start it`);
    const target = (now ?? later)?.target ?? freeTarget([...live, ...next]);
    const disk = {
      alias: aliasOf(name),
      target,
      path: volume.path,
      kind,
      serial: serialOf(volume),
      readonly: !takesWrites(access),
      limits: access.limits,
      shared: access.capability.accessMode.startsWith('MULTI_NODE_'),
    };
    const errors = await hypervisor.plug(domain, disk, { live: !now, next: isPersistent && !later });
    if (!(await findDomain(domainName)).live.some(isNamed(name)))
      throw unavailableProblem(
        `the disk cannot be plugged into the virtual machine "${domainName}": ${errors}`,
      );
  }

  /** Gives a plugged disk the limits, if it has other ones. */
  async function tune(
    domain: Domain,
    { now, later }: Readonly<Record<'now' | 'later', PluggedDisk | undefined>>,
    limits: IoLimits = {},
  ): Promise<void> {
    const isOther = (one?: PluggedDisk): boolean =>
      one !== undefined && !isDeepStrictEqual(one.limits, limits);
    const where = { live: isOther(now), next: domain.isPersistent && isOther(later) };
    const target = (now ?? later)?.target;
    if (target !== undefined && (where.live || where.next))
      await hypervisor.limit(domain, { target, limits }, where);
  }

  /**
   * UNAVAILABLE while a saved state or a snapshot of the machine would bring the disk back; that state belongs to the
   * machine's owner. Nothing has changed by then, so the disk is still in the machine's description and is found
   * again.
   */
  async function requireNotSaved(domain: Domain, name: string): Promise<void> {
    const { name: machine, saved } = domain;
    if (saved === 'unreadable')
      throw unavailableProblem(`the saved state of the virtual machine "${machine}" cannot be read`);
    if (saved.some(isNamed(name)))
      throw unavailableProblem(
        `the virtual machine "${machine}" has the disk in its saved state; start it, or drop the state with "virsh managedsave-remove ${machine}"`,
      );
    const snapshots = await hypervisor.snapshotsWith(domain, aliasOf(name));
    if (snapshots.length > 0)
      throw unavailableProblem(
        `the virtual machine "${machine}" has the disk in its snapshots "${snapshots.join('", "')}"; delete them with "virsh snapshot-delete ${machine}"`,
      );
  }

  /** Finds the machine if it, its description or its saved state still has the disk. */
  async function findHolder({ uuid }: Domain, name: string): Promise<Domain | undefined> {
    return (await hypervisor.domains()).find(domain => domain.uuid === uuid && hasDisk(domain, name));
  }

  async function unplug(domain: Domain, name: string): Promise<void> {
    await requireNotSaved(domain, name);
    const alias = aliasOf(name);
    const errors = [
      // The description comes first, so that the machine never starts again with the disk.
      domain.next.some(isNamed(name)) ? await hypervisor.forget(domain, alias) : '',
      domain.live.some(isNamed(name)) ? await hypervisor.unplug(domain, alias) : '',
    ];
    const checkReleased = async (): Promise<true | undefined> =>
      (await findHolder(domain, name)) === undefined ? true : undefined;
    if (await poll(checkReleased, { everyMs: 200, timeoutMs: patienceMs })) return;
    const state = await hypervisor.state(domain);
    if (fence === 'power') {
      log.warn('powering off a virtual machine that does not release a disk', {
        detail: `"${domain.name}" is ${state}`,
      });
      errors.push(await hypervisor.powerOff(domain));
      if ((await findHolder(domain, name)) === undefined) return;
    }
    const reason = [`it is ${state}`, ...errors.filter(Boolean)].join('; ');
    throw unavailableProblem(`the virtual machine "${domain.name}" has not released the disk: ${reason}`);
  }

  const driver: TargetDriver = {
    protocol: 'device',
    noun: 'disk of a virtual machine',
    prepare: async () => {},
    list: async () => (await hypervisor.domains()).flatMap(namesIn),
    create(name, target) {
      const domainName = domainOf(template, target.access);
      return runInQueue(domainName, () => plug(domainName, name, target));
    },
    async remove(name) {
      const holders = (await hypervisor.domains()).filter(domain => hasDisk(domain, name));
      for (const domain of holders) await runInQueue(domain.name, () => unplug(domain, name));
    },
    async resize(name, { sizeBytes }) {
      for (const domain of await hypervisor.domains())
        for (const { target } of domain.live.filter(isNamed(name)))
          await hypervisor.resize(domain, target, sizeBytes);
    },
    reach: (_, { volume }) => ({ protocol: 'device', serial: serialOf(volume), limitsIo: true }),
  };
  return exportTargets(driver, { names, log });
}

/** The maximum length of a virtio disk's serial number. */
const serialLength = 20;

/** libvirt keeps aliases with `ua-` unchanged; they cannot contain dots. */
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

function domainOf(
  template: string,
  { nodeId, cluster = '', topology = {} }: ExportedAttachment['access'],
): string {
  const known: Readonly<Record<string, string>> = { ...topology, node: readNodeId(nodeId).name, cluster };
  return template.replaceAll(/\{([^{}]+)\}/g, (_, key: string) => {
    const value = known[key];
    if (value === undefined) throw preconditionProblem(`node "${nodeId}" has no topology "${key}"`);
    return value;
  });
}
