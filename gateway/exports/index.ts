import { z } from 'zod';
import type { Export, ExportContext, ExportPlugin } from '../export.ts';
import { loop } from './loop.ts';

/** Every export, by its protocol. */
export const exports = { loop } as const;

/** What `export` of a pool may be. */
export const exportSettings = z.discriminatedUnion('protocol', [loop.settings]);

/** Opens the export that the settings name; changes nothing on the machine. */
export function openExport(
  settings: z.output<typeof exportSettings>,
  context: ExportContext,
): Promise<Export> {
  const plugin: ExportPlugin = exports[settings.protocol];
  return plugin.open(settings, context);
}
