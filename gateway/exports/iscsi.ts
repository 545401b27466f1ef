import { z } from 'zod';
import type { Log } from '../../src/lib/log.ts';
import type { Export, ExportedVolume, ExportPlugin } from '../export.ts';
import { configfs, openConfigTree, setAttribute, type ConfigTree } from './kernel/configfs.ts';
import { drain } from './kernel/drain.ts';
import { findLacks, loadModules, portals } from './kernel/machine.ts';
import { createNames, type Names } from './targets/names.ts';
import { exportTargets, type TargetDriver } from './targets/targets.ts';

const settings = z.strictObject({
  protocol: z.literal('iscsi').describe("the kernel's own iSCSI target (LIO)"),
  ...portals,
});
type Settings = Pick<z.output<typeof settings>, 'addresses' | 'listen'>;

const modules = ['target_core_mod', 'target_core_file', 'iscsi_target_mod'];
const prefix = 'iqn.2026-11.dev.fairlead:';
const [core, fabric] = [`${configfs}/target/core`, `${configfs}/target/iscsi`];

/** What the kernel takes as a file's path (FD_MAX_DEV_NAME), less what follows the directory: an id and its suffix. */
const mostRootBytes = 255 - 128 - '/.img'.length;

/** Volumes as units of targets, one for one attachment, which ask for its password and prove themselves by another. */
export const iscsi: ExportPlugin<typeof settings> = {
  settings,
  async open(chosen, { root, log, poolKey }) {
    const [tree, names] = [openConfigTree(), createNames(await poolKey())];
    const { addresses, listen = addresses } = chosen;
    return {
      ...exportIscsi(chosen, { tree, names, log, load: () => loadModules(modules) }),
      async check() {
        const isFit = Buffer.byteLength(root) <= mostRootBytes && !/[,\n]/.test(root);
        const unfit = `the kernel takes no directory "${root}": it is longer than ${mostRootBytes} bytes, or has a comma`;
        return [
          ...(isFit ? [] : [unfit]),
          ...(await findLacks({ modules, listen, isServed: portal => isPortal(tree, portal) })),
        ];
      },
    };
  },
};

/** What the export works with. */
export type IscsiParts = {
  readonly tree: ConfigTree;
  readonly names: Names;
  readonly log: Log;
  readonly load: () => Promise<void>;
};

/** The export over a configfs whose target is loaded by `load`. */
export function exportIscsi({ addresses, listen = addresses }: Settings, parts: IscsiParts): Export {
  const { tree, names, log, load } = parts;
  const shelf = `${core}/fileio_${Number.parseInt(names.pool, 16)}`;
  const storeOf = (name: string): string => `${shelf}/${name}`;
  const passwordOf = (name: string, purpose: string): string =>
    names.secretOf(name, purpose).toString('hex').slice(0, 32);

  const requireFree = (name: string): void =>
    [homeOf(name), storeOf(name)].forEach(path => tree.requireFree(path));
  /**
   * The first target of a portal has the kernel listen there. A process that is killed meanwhile would leave it listening for
   * nobody, and no target could have the portal until the machine starts again (iscsit_add_np).
   */
  async function makePortal(directory: string, portal: string): Promise<void> {
    if (isServed(tree, portal)) tree.make(`${directory}/${portal}`);
    else await tree.makeApart(`${directory}/${portal}`);
  }

  async function makeGroup(name: string, readonly: boolean): Promise<void> {
    const group = groupOf(name);
    for (const path of [fabric, homeOf(name), group, unitOf(name)]) tree.make(path);
    await tree.link(storeOf(name), `${unitOf(name)}/store`);
    // Whoever has the password is the node: nobody else was given it, whatever name it has among initiators.
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
    for (const portal of listen) await makePortal(`${group}/np`, portal);
    setAttribute(tree, `${group}/enable`, '1');
  }

  const driver: TargetDriver = {
    protocol: 'iscsi',
    noun: 'iscsi target',
    prepare: load,
    list: () => [...ownTargets(tree).map(entry => entry.slice(prefix.length)), ...tree.list(shelf)],
    async make(name, { volume, access }) {
      requireFree(name);
      tree.make(shelf);
      makeStore(tree, storeOf(name), { ...volume, serial: names.identityOf(volume) });
      await makeGroup(name, access.readonly);
    },
    async remove(name) {
      requireFree(name);
      const [unit, group] = [unitOf(name), groupOf(name)];
      const unlink = (): Promise<void> => tree.unlink(`${unit}/store`);
      const turnOff = (): Promise<void> => tree.writeSlowly(`${group}/enable`, '0');
      // The node's I/O fails from here on.
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

/** True where any target of this machine has the portal: targets share one. */
function isPortal(tree: ConfigTree, portal: string): boolean {
  const targets = tree.list(fabric).filter(name => /^(iqn|eui|naa)\./.test(name));
  const groups = targets.flatMap(target =>
    tree
      .list(`${fabric}/${target}`)
      .filter(name => name.startsWith('tpgt_'))
      .map(name => `${fabric}/${target}/${name}`),
  );
  return groups.some(group => tree.list(`${group}/np`).includes(portal));
}

/** True where a target of a pool has the portal. */
function isServed(tree: ConfigTree, portal: string): boolean {
  return ownTargets(tree).some(target => tree.list(`${fabric}/${target}/tpgt_1/np`).includes(portal));
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

/** A file as the kernel's store; one that is on stays as it is, but for its size. Unused blocks are given back. */
function makeStore(
  tree: ConfigTree,
  home: string,
  { path, sizeBytes, serial }: ExportedVolume & { readonly serial: string },
): void {
  tree.make(home);
  if (tree.read(`${home}/enable`) !== '1') {
    tree.write(`${home}/control`, `fd_dev_name=${path},fd_dev_size=${sizeBytes},fd_buffered_io=1`);
    tree.write(`${home}/enable`, '1');
  } else tree.write(`${home}/control`, `fd_dev_size=${sizeBytes}`);
  if (!tree.read(`${home}/wwn/vpd_unit_serial`)?.endsWith(serial))
    tree.write(`${home}/wwn/vpd_unit_serial`, serial);
  setAttribute(tree, `${home}/attrib/emulate_tpu`, '1');
}

/** How the kernel makes a name of a serial number: an OUI, and as many digits as fit (target_core_spc.c). */
function naaOf(serial: string): string {
  return `naa.6001405${serial.slice(0, 25)}`;
}
