import type { Filesystem } from '../filesystem.ts';
import type { Host } from '../host.ts';
import type { Unmounting } from '../host/mount.ts';
import type { ObservePhase } from '../host/phases.ts';
import type { Watch } from '../host/stuck-commands.ts';
import type { Cache } from '../state/cache.ts';
import type { Records } from '../state/records.ts';
import type { Base } from './target-path.ts';
import type { Trust } from './trust.ts';

/** What the work on every volume shares. */
export type Agent = {
  readonly host: Host;
  readonly records: Records;
  readonly cache: Cache;
  readonly watch: Watch;
  readonly unmounting: Unmounting;
  readonly base: Base;
  readonly trust: Trust;
  /** What a blank volume is formatted with when no filesystem is asked for. */
  readonly defaultFilesystem: Filesystem;
  /** Measures the phases of its work; undefined where nobody does. */
  readonly observePhase?: ObservePhase | undefined;
};
