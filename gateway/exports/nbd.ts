import { join } from 'node:path';
import { z } from 'zod';
import { fieldKinds } from '../../src/api/attachment.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Export, ExportPlugin } from '../export.ts';
import { findLacks, openServers, type ServerParts } from './nbd/servers.ts';
import { createNames, type Names } from './targets/names.ts';
import { exportTargets, type TargetDriver } from './targets/targets.ts';

const host = z.string().regex(fieldKinds.host.pattern, `is ${fieldKinds.host.fault}`);
const port = z.int().min(1).max(fieldKinds.port.most);

const settings = z.strictObject({
  protocol: z.literal('nbd').describe('nbd-server, a process for each attachment'),
  address: host.describe('name or address by which nodes reach this machine'),
  listen: host.optional().describe('the address of this machine, where that is another'),
  ports: z
    .strictObject({ from: port.describe('the first'), to: port.describe('the last') })
    .refine(({ from, to }) => from <= to, '"to" is less than "from"')
    .prefault({ from: 10_810, to: 11_833 })
    .describe('each attachment has one of these'),
});
type Settings = z.output<typeof settings>;

const program = 'nbd-server';

/**
 * Volumes by an nbd-server for each attachment, which outlives the gateway. The protocol has no authentication: whoever reaches
 * the port and knows the name of the attachment has the volume. A node sees a new size when it connects next.
 */
export const nbd: ExportPlugin<typeof settings> = {
  settings,
  async open(chosen, { root, log, poolKey }) {
    const names = createNames(await poolKey());
    const { address, listen = address } = chosen;
    return {
      ...exportNbd(chosen, { program, directory: join(root, '.nbd'), names, log }),
      check: () => findLacks(program, { root, listen }),
    };
  },
};

/** What the export works with. */
export type NbdParts = ServerParts & { readonly names: Names; readonly log: Log };

/** The export, whose servers' configurations are in a directory. */
export function exportNbd(
  { address, listen = address, ports }: Settings,
  { program: command, directory, names, log }: NbdParts,
): Omit<Required<Export>, 'check' | 'close'> {
  const servers = openServers({ listen, ports }, { program: command, directory });
  const driver: TargetDriver = {
    protocol: 'nbd',
    noun: 'nbd-server',
    async prepare() {
      servers.prepare();
      log.warn('whoever knows the name of an attachment reaches its volume', {
        detail: 'NBD has no authentication',
      });
    },
    list: servers.list,
    make: servers.start,
    remove: servers.remove,
    reach: name => ({ protocol: 'nbd', server: address, port: servers.portOf(name) ?? 0, export: name }),
  };
  return exportTargets(driver, { names, log });
}
