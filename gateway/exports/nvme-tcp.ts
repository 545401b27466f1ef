import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { unavailableProblem } from '../../src/api/problem.ts';
import type { Reach } from '../../src/api/attachment.ts';
import type { Log } from '../../src/lib/log.ts';
import { hostPort } from '../../src/lib/parsers.ts';
import type { Export, ExportPlugin } from '../export.ts';
import { configfs, openConfigTree, setAttribute, type ConfigTree } from './kernel/configfs.ts';
import { drain } from './kernel/drain.ts';
import { findLacks, loadModules, portals } from './kernel/machine.ts';
import { createNames, toUuid, type Names } from './targets/names.ts';
import { exportTargets, type TargetDriver } from './targets/targets.ts';

const settings = z.strictObject({
  protocol: z.literal('nvme-tcp').describe("the kernel's own NVMe target (nvmet)"),
  ...portals,
  authentication: z
    .enum(['dhchap', 'none'])
    .optional()
    .describe(
      'whether nodes prove themselves (DH-HMAC-CHAP); without it where the kernel of this machine can demand it, which the kernels of all nodes must have then',
    ),
});
type Settings = Pick<z.output<typeof settings>, 'addresses' | 'listen' | 'authentication'>;

const modules = ['nvmet', 'nvmet_tcp'];
const prefix = 'nqn.2026-11.dev.fairlead:';
const nvmet = `${configfs}/nvmet`;
const ports = `${nvmet}/ports`;

/** Volumes as namespaces, each in a subsystem for one attachment, which accepts one name of a host alone. */
export const nvmeTcp: ExportPlugin<typeof settings> = {
  settings,
  async open(chosen, { log, poolKey }) {
    const [tree, names] = [openConfigTree(), createNames(await poolKey())];
    const { addresses, listen = addresses } = chosen;
    return {
      ...exportNvme(chosen, { tree, names, log, load: () => loadModules(modules) }),
      check: () =>
        findLacks({ modules, listen, isServed: address => knownPort(tree, address) !== undefined }),
    };
  },
};

/** What the export works with. */
export type NvmeParts = {
  readonly tree: ConfigTree;
  readonly names: Names;
  readonly log: Log;
  readonly load: () => Promise<void>;
};

/** The export over a configfs whose target is loaded by `load`. */
export function exportNvme(chosen: Settings, { tree, names, log, load }: NvmeParts): Export {
  const { addresses, listen = addresses, authentication } = chosen;
  let [canDemand, isDemanding] = [false, false];
  const keyOf = (name: string, purpose: string): string => toKey(names.secretOf(name, purpose));

  /** A node goes on as it was told, whatever the kernel can since; one that may come in already is not asked for more. */
  async function makeHost(name: string, told?: Reach): Promise<void> {
    const [host, subsystem] = [hostOf(name), subsystemOf(name)];
    const isNew = !tree.list(`${subsystem}/allowed_hosts`).includes(`${prefix}${name}`);
    const hasKeys = told ? canDemand && told.sealed !== undefined : isDemanding;
    tree.make(host);
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
      canDemand = await canDemandKeys(tree, names.pool);
      isDemanding = authentication !== 'none' && canDemand;
      if (isDemanding || authentication === 'none') return;
      const lack = 'the kernel of this machine cannot demand keys of nodes (CONFIG_NVME_TARGET_AUTH)';
      if (authentication === 'dhchap') throw new Error(`export: ${lack}`);
      log.warn('whoever knows the name of an attachment reaches its volume', { detail: lack });
    },
    list: () =>
      ['subsystems', 'hosts']
        .flatMap(kind => tree.list(`${nvmet}/${kind}`))
        .filter(entry => entry.startsWith(prefix))
        .map(entry => entry.slice(prefix.length)),
    async make(name, { volume, reach }) {
      tree.requireFree(subsystemOf(name));
      tree.make(subsystemOf(name));
      await makeHost(name, reach);
      tree.make(spaceOf(name));
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
      // The node's I/O fails from here on.
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
      ...(isDemanding && {
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

/** A namespace that is on and is this file stays as it is. */
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
      // What lies in memory cannot be read around the cache.
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL' || buffered === '1')
        throw unavailableProblem(`the kernel cannot export "${path}"`, error);
    }
}

/** What the port of an address says of itself. */
function portAttributes(address: string): readonly (readonly [name: string, value: string])[] {
  const { host, port } = hostPort(address);
  return [
    ['addr_adrfam', host.includes(':') ? 'ipv6' : 'ipv4'],
    ['addr_trtype', 'tcp'],
    ['addr_traddr', host],
    ['addr_trsvcid', String(port)],
  ];
}

/** The number of an address's port, whoever made it. */
function knownPort(tree: ConfigTree, address: string): string | undefined {
  const wanted = portAttributes(address);
  return tree
    .list(ports)
    .find(id => wanted.every(([name, value]) => tree.read(`${ports}/${id}/${name}`) === value));
}

/** The port of an address; without one it is made, under a number that is its own at each start. */
function findPort(tree: ConfigTree, address: string): string {
  const known = knownPort(tree, address);
  if (known !== undefined) return `${ports}/${known}`;
  let id = (crc32(address) % 0xf000) + 1;
  // What a crash left half made has no service yet.
  while ((tree.read(`${ports}/${id}/addr_trsvcid`) ?? '') !== '') id++;
  tree.make(`${ports}/${id}`);
  for (const [name, value] of portAttributes(address)) setAttribute(tree, `${ports}/${id}/${name}`, value);
  return `${ports}/${id}`;
}

async function canDemandKeys(tree: ConfigTree, pool: string): Promise<boolean> {
  const probe = `${nvmet}/hosts/${prefix}${pool}.probe`;
  tree.make(probe);
  const isThere = tree.list(probe).includes('dhchap_key');
  await tree.remove(probe);
  return isThere;
}

/** A key as text: for SHA-256, its bytes with their CRC-32 in Base64 (NVMe TP 8006). */
function toKey(secret: Buffer): string {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(secret));
  return `DHHC-1:01:${Buffer.concat([secret, checksum]).toString('base64')}:`;
}
