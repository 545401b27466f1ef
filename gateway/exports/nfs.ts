import { isIP, isIPv6 } from 'node:net';
import * as z from 'zod';
import { preconditionProblem } from '../../src/api/problem.ts';
import { accessModes } from '../../src/api/storage.ts';
import { sameJson } from '../../src/lib/json.ts';
import { exec } from '../../src/lib/exec.ts';
import {
  takesWrites,
  type Export,
  type ExportedAttachment,
  type ExportedVolume,
  type ExportPlugin,
} from '../export.ts';
import { commandProblem } from '../local/files.ts';
import { createNames, type Names } from '../local/targets/names.ts';
import { exportTargets, type TargetDriver } from '../local/targets/targets.ts';
import type { Log } from '../../src/lib/log.ts';
import { openRecords, type ExportRecord, type Records } from './nfs/records.ts';
import {
  endCopies,
  endRequests,
  expireClients,
  findServerFaults,
  isFilesystem,
  parseListing,
} from './nfs/server.ts';

const settings = z.strictObject({
  protocol: z
    .literal('nfs')
    .describe("the kernel's own NFS server (nfsd), for the directories of a dir pool"),
  addresses: z
    .array(z.union([z.ipv4(), z.ipv6()], 'use an IP address without a port'))
    .min(1)
    .describe(
      'addresses of this machine for nodes; a node gets the first of the kind (IPv4 or IPv6) that it has',
    ),
  noRootSquash: z
    .boolean()
    .optional()
    .describe(
      "true lets root on a node act as root in the volume's files: it can then leave programs there that run as root on other machines; default: false",
    ),
});
type Settings = z.output<typeof settings>;

const timeoutMs = 30_000;
/** The maximum characters of the list of all exports. */
const maxListing = 2 ** 24;

/**
 * Exports directories. Each attachment has an export of its own for the addresses of its node, with an id of the
 * filesystem (`fsid`) that no other attachment has: the files that a node opened are dead once it is withdrawn.
 */
export const nfs: ExportPlugin<typeof settings> = {
  settings,
  protocolOf: () => 'nfs',
  kindsOf: () => ['directory'],
  async open(chosen, { root, log, poolKey }) {
    const names = createNames(await poolKey());
    return {
      ...exportNfs(chosen, { names, log, records: openRecords() }),
      addresses: chosen.addresses,
      async check() {
        const rootFault = `directory "${root}" cannot be exported over NFS: use a path of letters, digits and the characters . _ - + only`;
        return [...(/^[\w./+-]+$/.test(root) ? [] : [rootFault]), ...(await findServerFaults(root))];
      },
    };
  },
};

/** The server looks whether a file is below the exported directory. */
const directoryScope = 'subtree_check';
/**
 * A filesystem confines the node by itself, and ZFS does not know the directory of a file that the server has forgotten.
 * While the filesystem is not mounted, the server does not export the directory below it.
 */
const filesystemScope = 'no_subtree_check,mountpoint';

type NfsParts = { readonly names: Names; readonly log: Log; readonly records: Records };

function exportNfs({ addresses, noRootSquash = false }: Settings, { names, log, records }: NfsParts): Export {
  /** FAILED_PRECONDITION while the volume is exported to one of these addresses for another node. */
  async function requireUnshared(name: string, volume: ExportedVolume, wanted: ExportRecord): Promise<void> {
    const others = (await records.names()).filter(other => other !== name && names.isOfVolume(other, volume));
    for (const { record } of await records.all(others)) {
      const shared = record.clients.find(one => wanted.clients.includes(one));
      if (shared)
        throw preconditionProblem(
          `the volume is attached to another node with the address ${shared} already`,
        );
    }
  }

  async function remove(name: string): Promise<void> {
    const found = await records.find(name);
    if (!found) return;
    await records.close(name);
    await shut(found.record);
    await records.remove(name);
  }

  /** Returns once the server admits no request of these clients to the path, and works on none. */
  async function shut({
    path,
    clients,
    fsid,
  }: Pick<ExportRecord, 'path' | 'clients' | 'fsid'>): Promise<void> {
    for (const client of clients) await exec('exportfs', ['-u', operandOf(client, path)], { timeoutMs });
    const listing = await run(['-s']);
    if (listing.includes(fsid)) throw new Error(`"exportfs" still lists "${path}" for ${clients.join(', ')}`);
    await endRequests({ path, clients }, () => run(['-f']));
    const all = await records.all();
    // Its locks on other shares would be lost as well.
    const isElsewhere = all.some(
      ({ isClosed, record }) => !isClosed && record.clients.some(client => clients.includes(client)),
    );
    if (!isElsewhere) await expireClients(clients, path);
    await endCopies();
  }

  /** Shuts the exports of a path that have no file of this gateway, such as one that another program has removed. */
  async function shutStrays(path: string): Promise<void> {
    const known = new Set((await records.all()).map(({ record }) => record.fsid));
    for (const { client, fsid = '' } of parseListing(await run(['-s'])).filter(one => one.path === path))
      if (!known.has(fsid)) await shut({ path, clients: [client], fsid: `fsid=${fsid},` });
  }

  const driver: TargetDriver = {
    protocol: 'nfs',
    noun: 'nfs export',
    prepare: async () => {},
    list: records.names,
    async create(name, { volume, access, reach }) {
      const { path } = volume;
      const { clients } = routeOf(addresses, access);
      const fsid = names.hostIdOf(name);
      const squash = noRootSquash ? 'no_root_squash' : 'root_squash';
      const scope = isFilesystem(path) ? filesystemScope : directoryScope;
      const options = `${takesWrites(access) ? 'rw' : 'ro'},sync,${scope},${squash},fsid=${fsid}`;
      const wanted = { path, clients, fsid, options };
      if (!reach) await requireUnshared(name, volume, wanted);
      const before = await records.find(name);
      if (before && (before.isClosed || !sameJson(before.record, wanted))) await remove(name);
      await records.write(name, wanted);
      for (const client of clients) await run(['-i', '-o', options, operandOf(client, path)]);
    },
    remove,
    resize: () => {},
    reach: (_name, { volume: { path }, access }) => ({
      protocol: 'nfs',
      server: routeOf(addresses, access).server,
      path,
    }),
  };
  const targets = exportTargets(driver, { names, log });
  return {
    ...targets,
    accessModes,
    async withdraw(volume, nodeId, cluster) {
      await targets.withdraw(volume, nodeId, cluster);
      await shutStrays(volume.path);
    },
  };
}

/** Chooses the address of this machine for a node, and the node's addresses of the same kind. FAILED_PRECONDITION without any. */
function routeOf(
  addresses: readonly string[],
  { nodeId, addresses: clients = [] }: ExportedAttachment['access'],
) {
  const server = addresses.find(one => clients.some(client => isIP(client) === isIP(one)));
  if (server !== undefined)
    return { server, clients: clients.filter(client => isIP(client) === isIP(server)) };
  throw preconditionProblem(
    clients.length === 0
      ? `node "${nodeId}" has reported no address, and this pool admits nodes by their addresses; report its "addresses"`
      : `node "${nodeId}" has the addresses ${clients.join(', ')}, and none is of the kind (IPv4 or IPv6) of the export's addresses`,
  );
}

function operandOf(client: string, path: string): string {
  return `${isIPv6(client) ? `[${client}]` : client}:${path}`;
}

async function run(args: readonly string[]): Promise<string> {
  const result = await exec('exportfs', args, { timeoutMs, maxOutput: maxListing });
  if (result.status !== 0) throw commandProblem('exportfs', 'change the exports', result);
  return result.stdout;
}
