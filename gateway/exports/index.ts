import * as z from 'zod';
import { isDroppedProtocol } from '../../src/api/attachment.ts';
import type { Export, ExportContext, ExportPlugin } from '../export.ts';
import { iscsi } from './iscsi.ts';
import { libvirt } from './libvirt.ts';
import { loop } from './loop.ts';
import { nvmeTcp } from './nvme-tcp.ts';

/** Every export, by its protocol. */
export const exports = { loop, 'nvme-tcp': nvmeTcp, iscsi, libvirt } as const;

/** The schema of a pool's setting `export`. */
export const exportSettings = z.discriminatedUnion(
  'protocol',
  [loop.settings, nvmeTcp.settings, iscsi.settings, libvirt.settings],
  {
    error({ code, input }) {
      if (code !== 'invalid_union') return undefined;
      const { protocol } = Object(input) as { readonly protocol?: unknown };
      const isDropped = typeof protocol === 'string' && isDroppedProtocol(protocol);
      return `${isDropped ? `${protocol} is no longer offered: choose one` : 'is none'} of ${Object.keys(exports).join(', ')}`;
    },
  },
);

/** Opens the export of the settings. Changes nothing on the machine. */
export function openExport(
  settings: z.output<typeof exportSettings>,
  context: ExportContext,
): Promise<Export> {
  const plugin: ExportPlugin = exports[settings.protocol];
  return plugin.open(settings, context);
}
