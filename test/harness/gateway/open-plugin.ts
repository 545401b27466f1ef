import type { z } from 'zod';
import type { Backend, BackendPlugin } from '../../../gateway/backend.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Opens a backend as pool `test` with these settings in the pool's configuration. */
export async function openPlugin<Settings extends z.ZodType>(
  plugin: BackendPlugin<Settings>,
  settings: z.input<Settings>,
): Promise<Backend> {
  return plugin.open(plugin.settings.parse(settings), { name: 'test', log: silent });
}
