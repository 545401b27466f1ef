import * as z from 'zod';
import { canonicalAddress } from '../../src/api/attachments/addresses.ts';
import { takesWrites, type Export, type ExportedVolume, type ExportPlugin } from '../export.ts';
import { configfs, openConfigTree, setAttribute, type ConfigTree } from '../local/kernel/configfs.ts';
import { drain } from '../local/kernel/drain.ts';
import { findMachineFaults, loadModules, portals, type TargetParts } from '../local/kernel/machine.ts';
import { createNames } from '../local/targets/names.ts';
import { exportTargets, type TargetDriver } from '../local/targets/targets.ts';

const settings = z.strictObject({
  protocol: z.literal('iscsi').describe("the kernel's own iSCSI target (LIO)"),
  ...portals,
});
type Settings = Pick<z.output<typeof settings>, 'addresses' | 'listen'>;

const modules = ['target_core_mod', 'target_core_file', 'iscsi_target_mod'];
const prefix = 'iqn.2026-11.dev.fairlead:';
const [core, fabric] = [`${configfs}/target/core`, `${configfs}/target/iscsi`];

/**
 * The maximum length of the directory: the kernel's limit for a file's path (FD_MAX_DEV_NAME), less an id and its
 * suffix.
 */
const maxRootBytes = 255 - 128 - '/.img'.length;

/**
 * Exports volumes as logical units. Each attachment has a target of its own, with a password for the node and another
 * for the target (mutual CHAP).
 */
export const iscsi: ExportPlugin<typeof settings> = {
  settings,
  protocolOf: () => 'iscsi',
  kindsOf: () => ['file', 'device'],
  async open(chosen, { root, log, poolKey }) {
    const [tree, names] = [openConfigTree(), createNames(await poolKey())];
    const { addresses, listen = addresses } = chosen;
    return {
      ...exportIscsi(chosen, { tree, names, log, load: () => loadModules(modules) }),
      addresses,
      async check() {
        const isFit = Buffer.byteLength(root) <= maxRootBytes && !/[,\n]/.test(root);
        const rootFault = `directory "${root}" cannot be exported over iSCSI: use a path of at most ${maxRootBytes} bytes without a comma`;
        return [
          ...(isFit ? [] : [rootFault]),
          ...(await findMachineFaults({ modules, listen, isServed: portal => hasAnyTarget(tree, portal) })),
        ];
      },
    };
  },
};

export function exportIscsi({ addresses, listen = addresses }: Settings, parts: TargetParts): Export {
  const { tree, names, log, load } = parts;
  const storeGroup = `${core}/fileio_${Number.parseInt(names.pool, 16)}`;
  const storeOf = (name: string): string => `${storeGroup}/${name}`;
  const passwordOf = (name: string, purpose: string): string =>
    names.secretOf(name, purpose).toString('hex').slice(0, 32);

  const requireFree = (name: string): void =>
    [homeOf(name), storeOf(name)].forEach(path => tree.requireFree(path));
  /**
   * Adds a portal to a target. The first target of a portal makes the kernel listen. A separate process does this: if
   * the gateway is killed at that moment, a socket without a target would block the portal until the machine restarts
   * (iscsit_add_np).
   */
  async function createPortal(directory: string, portal: string): Promise<void> {
    if (isServed(tree, portal)) tree.create(`${directory}/${portal}`);
    else await tree.createApart(`${directory}/${portal}`);
  }

  async function createGroup(name: string, readonly: boolean): Promise<void> {
    const group = groupOf(name);
    for (const path of [fabric, homeOf(name), group, unitOf(name)]) tree.create(path);
    await tree.link(storeOf(name), `${unitOf(name)}/store`);
    // The password identifies the node: no one else has it, so any initiator name is accepted.
    const attributes = {
      authentication: '1',
      generate_node_acls: '1',
      cache_dynamic_acls: '1',
      demo_mode_write_protect: readonly ? '1' : '0',
    };
    for (const [key, value] of Object.entries(attributes))
      setAttribute(tree, `${group}/attrib/${key}`, value);
    const credentials = {
      userid: 'node',
      password: passwordOf(name, 'node'),
      userid_mutual: 'target',
      password_mutual: passwordOf(name, 'target'),
    };
    for (const [key, value] of Object.entries(credentials)) tree.writeSecret(`${group}/auth/${key}`, value);
    for (const portal of listen) await createPortal(`${group}/np`, portal);
    setAttribute(tree, `${group}/enable`, '1');
  }

  const driver: TargetDriver = {
    protocol: 'iscsi',
    noun: 'iscsi target',
    prepare: load,
    list: () => [...ownTargets(tree).map(entry => entry.slice(prefix.length)), ...tree.list(storeGroup)],
    async create(name, { volume, access }) {
      requireFree(name);
      tree.create(storeGroup);
      createStore(tree, storeOf(name), { ...volume, serial: names.identityOf(volume) });
      await createGroup(name, !takesWrites(access));
    },
    async remove(name) {
      requireFree(name);
      const [unit, group] = [unitOf(name), groupOf(name)];
      const unlink = (): Promise<void> => tree.unlink(`${unit}/store`);
      const turnOff = (): Promise<void> => tree.writeSlowly(`${group}/enable`, '0');
      // From here on the node's I/O fails.
      if (tree.read(`${group}/enable`) === '1')
        await drain({ what: `I/O of target ${prefix}${name}`, work: unlink, cut: turnOff });
      else await unlink();
      for (const portal of tree.list(`${group}/np`)) await tree.remove(`${group}/np/${portal}`);
      for (const path of [unit, group, homeOf(name), storeOf(name)]) await tree.remove(path);
    },
    resize(name, { sizeBytes }) {
      requireFree(name);
      tree.write(`${storeOf(name)}/control`, `fd_dev_size=${sizeBytes}`);
    },
    reach: (name, { volume }) => ({
      protocol: 'iscsi',
      portals: addresses,
      target: `${prefix}${name}`,
      lun: 0,
      wwid: naaOf(names.identityOf(volume)),
      secrets: {
        'node.session.auth.username': 'node',
        'node.session.auth.password': passwordOf(name, 'node'),
        'node.session.auth.username_in': 'target',
        'node.session.auth.password_in': passwordOf(name, 'target'),
      },
    }),
  };
  return exportTargets(driver, { names, log });
}

function ownTargets(tree: ConfigTree): readonly string[] {
  return tree.list(fabric).filter(entry => entry.startsWith(prefix));
}

/** True if any target of this machine has the portal; targets share portals. */
function hasAnyTarget(tree: ConfigTree, portal: string): boolean {
  const targets = tree.list(fabric).filter(name => /^(iqn|eui|naa)\./.test(name));
  const groups = targets.flatMap(target =>
    tree
      .list(`${fabric}/${target}`)
      .filter(name => name.startsWith('tpgt_'))
      .map(name => `${fabric}/${target}/${name}`),
  );
  return groups.some(group => hasPortal(tree, group, portal));
}

/** True if a target of a Fairlead pool has the portal. */
function isServed(tree: ConfigTree, portal: string): boolean {
  return ownTargets(tree).some(target => hasPortal(tree, `${fabric}/${target}/tpgt_1`, portal));
}

/** True if a group has the portal, in any spelling of the address. */
function hasPortal(tree: ConfigTree, group: string, portal: string): boolean {
  return tree.list(`${group}/np`).map(canonicalAddress).includes(canonicalAddress(portal));
}

function homeOf(name: string): string {
  return `${fabric}/${prefix}${name}`;
}

function groupOf(name: string): string {
  return `${homeOf(name)}/tpgt_1`;
}

function unitOf(name: string): string {
  return `${groupOf(name)}/lun/lun_0`;
}

/**
 * Makes a file or a device a store of the kernel. A store that is enabled keeps everything but its size, and a device's
 * size is always the present one. A device is no store of the kind `iblock`, which would lock it for one target. Unused
 * blocks are discarded, unless the device cannot.
 */
function createStore(
  tree: ConfigTree,
  home: string,
  { path, sizeBytes, serial }: ExportedVolume & { readonly serial: string },
): void {
  tree.create(home);
  if (tree.read(`${home}/enable`) !== '1') {
    tree.write(`${home}/control`, `fd_dev_name=${path},fd_dev_size=${sizeBytes},fd_buffered_io=1`);
    tree.write(`${home}/enable`, '1');
  } else tree.write(`${home}/control`, `fd_dev_size=${sizeBytes}`);
  if (!tree.read(`${home}/wwn/vpd_unit_serial`)?.endsWith(serial))
    tree.write(`${home}/wwn/vpd_unit_serial`, serial);
  if (tree.read(`${home}/attrib/max_unmap_block_desc_count`) !== '0')
    setAttribute(tree, `${home}/attrib/emulate_tpu`, '1');
}

/**
 * Derives the NAA name from a serial number as the kernel does: an OUI, and as many digits as fit
 * (target_core_spc.c).
 */
function naaOf(serial: string): string {
  return `naa.6001405${serial.slice(0, 25)}`;
}
