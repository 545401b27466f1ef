import type { Breakage } from './breakage.ts';
import { attachments } from './broken/attachments.ts';
import { bytes } from './broken/data/bytes.ts';
import { copies } from './broken/data/copies.ts';
import { crossings } from './broken/crossings.ts';
import { durability } from './broken/durability.ts';
import { halves } from './broken/halves.ts';
import { histories } from './broken/histories.ts';
import { imports } from './broken/imports.ts';
import { lists } from './broken/lists.ts';
import { losses } from './broken/losses.ts';
import { lostBytes } from './broken/data/lost-bytes.ts';
import { nodes } from './broken/nodes.ts';
import { races } from './broken/races.ts';
import { rights } from './broken/rights.ts';
import { tokens } from './broken/tokens.ts';
import { transport } from './broken/transport.ts';
import { volumes } from './broken/volumes.ts';

/** The faulty vendors by name; each has one fault. */
export const brokenVendors: Readonly<Record<string, Breakage>> = {
  ...transport,
  ...tokens,
  ...volumes,
  ...attachments,
  ...imports,
  ...lists,
  ...crossings,
  ...durability,
  ...copies,
  ...bytes,
  ...rights,
  ...races,
  ...halves,
  ...nodes,
  ...histories,
  ...losses,
  ...lostBytes,
};
