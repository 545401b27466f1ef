import { crc32 } from 'node:zlib';
import * as z from 'zod';
import { unavailableProblem } from '../../src/api/problem.ts';
import type { Reach } from '../../src/api/attachment.ts';
import { canonicalHost } from '../../src/api/attachments/addresses.ts';
import { hostPort } from '../../src/lib/parsers.ts';
import type { Export, ExportPlugin } from '../export.ts';
import { configfs, openConfigTree, setAttribute, type ConfigTree } from '../local/kernel/configfs.ts';
import { drain } from '../local/kernel/drain.ts';
import { findMachineFaults, loadModules, portals, type TargetParts } from '../local/kernel/machine.ts';
import { createNames, toUuid } from '../local/targets/names.ts';
import { exportTargets, type TargetDriver } from '../local/targets/targets.ts';

const settings = z.strictObject({
  protocol: z.literal('nvme-tcp').describe("the kernel's own NVMe target (nvmet)"),
  ...portals,
  authentication: z
    .enum(['dhchap', 'none'])
    .optional()
    .describe(
      'authentication of nodes (dhchap: DH-HMAC-CHAP); default: dhchap if the kernel of this machine supports it, and then the kernels of all nodes must support it too',
    ),
});
type Settings = Pick<z.output<typeof settings>, 'addresses' | 'listen' | 'authentication'>;

const modules = ['nvmet', 'nvmet_tcp'];
const prefix = 'nqn.2026-11.dev.fairlead:';
const nvmet = `${configfs}/nvmet`;
const ports = `${nvmet}/ports`;

/** Exports volumes as namespaces. Each attachment has a subsystem of its own, which accepts one host name only. */
export const nvmeTcp: ExportPlugin<typeof settings> = {
  settings,
  protocolOf: () => 'nvme-tcp',
  kindsOf: () => ['file', 'device'],
  async open(chosen, { log, poolKey }) {
    const [tree, names] = [openConfigTree(), createNames(await poolKey())];
    const { addresses, listen = addresses } = chosen;
    return {
      ...exportNvme(chosen, { tree, names, log, load: () => loadModules(modules) }),
      addresses,
      check: () =>
        findMachineFaults({ modules, listen, isServed: address => knownPort(tree, address) !== undefined }),
    };
  },
};

export function exportNvme(chosen: Settings, { tree, names, log, load }: TargetParts): Export {
  const { addresses, listen = addresses, authentication } = chosen;
  let [hasKeySupport, requiresKeys] = [false, false];
  const keyOf = (name: string, purpose: string): string => toKey(names.secretOf(name, purpose));

  /**
   * Creates the host of an attachment. A node that was attached before keeps its conditions, even if the kernel
   * supports keys only now; a host that is allowed already stays as it is.
   */
  async function createHost(name: string, previous?: Reach): Promise<void> {
    const [host, subsystem] = [hostOf(name), subsystemOf(name)];
    const isNew = !tree.list(`${subsystem}/allowed_hosts`).includes(`${prefix}${name}`);
    const hasKeys = previous ? hasKeySupport && previous.sealed !== undefined : requiresKeys;
    tree.create(host);
    if (isNew && hasKeys) {
      tree.writeSecret(`${host}/dhchap_key`, keyOf(name, 'host'));
      tree.writeSecret(`${host}/dhchap_ctrl_key`, keyOf(name, 'controller'));
    }
    setAttribute(tree, `${subsystem}/attr_allow_any_host`, '0');
    await tree.link(host, `${subsystem}/allowed_hosts/${prefix}${name}`);
  }

  const driver: TargetDriver = {
    protocol: 'nvme-tcp',
    noun: 'nvme subsystem',
    async prepare() {
      await load();
      hasKeySupport = await supportsKeys(tree, names.pool);
      requiresKeys = authentication !== 'none' && hasKeySupport;
      if (requiresKeys || authentication === 'none') return;
      const reason =
        'the kernel of this machine does not support authentication of nodes (CONFIG_NVME_TARGET_AUTH)';
      if (authentication === 'dhchap')
        throw new Error(`export: ${reason}; set "authentication" to "none", or use another kernel`);
      log.warn('anyone who knows the name of an attachment can reach its volume', { detail: reason });
    },
    list: () =>
      ['subsystems', 'hosts']
        .flatMap(kind => tree.list(`${nvmet}/${kind}`))
        .filter(entry => entry.startsWith(prefix))
        .map(entry => entry.slice(prefix.length)),
    async create(name, { volume, reach }) {
      tree.requireFree(subsystemOf(name));
      tree.create(subsystemOf(name));
      await createHost(name, reach);
      tree.create(spaceOf(name));
      enableSpace(tree, spaceOf(name), { path: volume.path, uuid: toUuid(names.identityOf(volume)) });
      for (const address of listen)
        await tree.link(subsystemOf(name), `${findPort(tree, address)}/subsystems/${prefix}${name}`);
    },
    async remove(name) {
      tree.requireFree(subsystemOf(name));
      const space = spaceOf(name);
      const turnOff = (): Promise<void> => tree.writeSlowly(`${space}/enable`, '0');
      const unlink = async (): Promise<void> => {
        for (const port of tree.list(ports))
          await tree.unlink(`${ports}/${port}/subsystems/${prefix}${name}`);
      };
      // From here on the node's I/O fails.
      if (tree.read(`${space}/enable`) === '1')
        await drain({ what: `I/O of subsystem ${prefix}${name}`, work: turnOff, cut: unlink });
      else await unlink();
      await tree.unlink(`${subsystemOf(name)}/allowed_hosts/${prefix}${name}`);
      for (const path of [space, subsystemOf(name), hostOf(name)]) await tree.remove(path);
    },
    resize(name) {
      tree.requireFree(subsystemOf(name));
      tree.write(`${spaceOf(name)}/revalidate_size`, '1');
    },
    reach: (name, { volume }) => ({
      protocol: 'nvme-tcp',
      addresses,
      subsystem: `${prefix}${name}`,
      wwid: `uuid.${toUuid(names.identityOf(volume))}`,
      hostNqn: `${prefix}${name}`,
      hostId: names.hostIdOf(name),
      ...(requiresKeys && {
        secrets: {
          'dhchap-secret': keyOf(name, 'host'),
          'dhchap-ctrl-secret': keyOf(name, 'controller'),
        },
      }),
    }),
  };
  return exportTargets(driver, { names, log });
}

function subsystemOf(name: string): string {
  return `${nvmet}/subsystems/${prefix}${name}`;
}

function spaceOf(name: string): string {
  return `${subsystemOf(name)}/namespaces/1`;
}

function hostOf(name: string): string {
  return `${nvmet}/hosts/${prefix}${name}`;
}

type Space = { readonly path: string; readonly uuid: string };

/** Enables a namespace for a file or device. A namespace that is enabled for this path already stays as it is. */
function enableSpace(tree: ConfigTree, home: string, { path, uuid }: Space): void {
  const isOn = tree.read(`${home}/enable`) === '1';
  if (isOn && tree.read(`${home}/device_path`) === path) return;
  if (isOn) tree.write(`${home}/enable`, '0');
  tree.write(`${home}/device_path`, path);
  tree.write(`${home}/device_uuid`, uuid);
  for (const buffered of ['0', '1'])
    try {
      tree.write(`${home}/buffered_io`, buffered);
      return tree.write(`${home}/enable`, '1');
    } catch (error) {
      // A file in memory does not support direct I/O, so buffered I/O is tried next.
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL' || buffered === '1')
        throw unavailableProblem(`the kernel cannot export "${path}"`, error);
    }
}

function portAttributes(address: string): readonly (readonly [name: string, value: string])[] {
  const { host, port } = hostPort(address);
  return [
    ['addr_adrfam', host.includes(':') ? 'ipv6' : 'ipv4'],
    ['addr_trtype', 'tcp'],
    ['addr_traddr', host],
    ['addr_trsvcid', String(port)],
  ];
}

/** Finds the port of an address, even one of another program. */
function knownPort(tree: ConfigTree, address: string): string | undefined {
  const attributes = portAttributes(address);
  return tree
    .list(ports)
    .find(id =>
      attributes.every(
        ([name, value]) => canonicalHost(tree.read(`${ports}/${id}/${name}`) ?? '') === canonicalHost(value),
      ),
    );
}

/**
 * Finds or creates the port of an address. A new port's number derives from the address, so it is the same at each
 * start.
 */
function findPort(tree: ConfigTree, address: string): string {
  const known = knownPort(tree, address);
  if (known !== undefined) return `${ports}/${known}`;
  let id = (crc32(address) % 0xf000) + 1;
  // A port that a crash left incomplete has no service id yet.
  while ((tree.read(`${ports}/${id}/addr_trsvcid`) ?? '') !== '') id++;
  tree.create(`${ports}/${id}`);
  for (const [name, value] of portAttributes(address)) setAttribute(tree, `${ports}/${id}/${name}`, value);
  return `${ports}/${id}`;
}

async function supportsKeys(tree: ConfigTree, pool: string): Promise<boolean> {
  const probe = `${nvmet}/hosts/${prefix}${pool}.probe`;
  tree.create(probe);
  const isThere = tree.list(probe).includes('dhchap_key');
  await tree.remove(probe);
  return isThere;
}

/** Formats a key for SHA-256: its bytes with their CRC-32 in Base64 (NVMe TP 8006). */
function toKey(secret: Buffer): string {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(secret));
  return `DHHC-1:01:${Buffer.concat([secret, checksum]).toString('base64')}:`;
}
