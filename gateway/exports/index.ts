import { z } from 'zod';
import type { Export, ExportContext, ExportPlugin } from '../export.ts';
import { iscsi } from './iscsi.ts';
import { libvirt } from './libvirt.ts';
import { loop } from './loop.ts';
import { nbd } from './nbd.ts';
import { nvmeTcp } from './nvme-tcp.ts';

/** Every export, by its protocol. */
export const exports = { loop, 'nvme-tcp': nvmeTcp, iscsi, nbd, libvirt } as const;

/** What `export` of a pool may be. */
export const exportSettings = z.discriminatedUnion('protocol', [
  loop.settings,
  nvmeTcp.settings,
  iscsi.settings,
  nbd.settings,
  libvirt.settings,
]);

/** Opens the export that the settings name; changes nothing on the machine. */
export function openExport(
  settings: z.output<typeof exportSettings>,
  context: ExportContext,
): Promise<Export> {
  const plugin: ExportPlugin = exports[settings.protocol];
  return plugin.open(settings, context);
}
