import type { BackendPlugin } from '../backend.ts';
import { filesOf, restSettings } from './rest/settings.ts';

/** Uses a storage system, or another gateway, that serves the vendor's part of the Storage API. */
export const rest: BackendPlugin<typeof restSettings> = {
  settings: restSettings,
  maxConcurrency: ({ connections }) => connections,
  addressOf: ({ url }) => url,
  filesOf,
  // A lazy import: the client takes 10 MB, which a gateway without a rest pool saves.
  check: async (values, pool) => (await import('./rest/open.ts')).checkRest(values, pool),
  checksStorageOnly: true,
  open: async (values, pool) => (await import('./rest/open.ts')).openRest(values, pool),
};
