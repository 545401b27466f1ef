import type { BackendPlugin } from '../backend.ts';
import { restSettings } from './rest/settings.ts';

/** A storage system, or another gateway, that serves the vendor's part of the Storage API. */
export const rest: BackendPlugin<typeof restSettings> = {
  settings: restSettings,
  mostAtOnce: ({ connections }) => connections,
  // The client and what it needs take 10 MB, which a gateway without such a pool does not have to spend.
  open: async (values, pool) => (await import('./rest/open.ts')).openRest(values, pool),
};
