import { attachments } from './broken/attachments.ts';
import type { Breakage } from './broken/breakage.ts';
import { lists } from './broken/lists.ts';
import { tokens } from './broken/tokens.ts';
import { transport } from './broken/transport.ts';
import { volumes } from './broken/volumes.ts';

/** Vendors that are wrong, each in one way, by their names. */
export const brokenVendors: Readonly<Record<string, Breakage>> = {
  ...transport,
  ...tokens,
  ...volumes,
  ...attachments,
  ...lists,
};
