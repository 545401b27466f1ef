import type { Log } from '../../src/lib/log.ts';
import type { Filesystem } from '../filesystem.ts';
import type { Host } from '../host.ts';
import type { UnmountPolicy } from '../host/mount.ts';
import type { PhaseObserver } from '../host/phases.ts';
import type { Watch } from '../host/stuck-commands.ts';
import type { Cache } from '../state/cache.ts';
import type { Records } from '../state/records.ts';
import type { Base } from './target-path.ts';
import type { Trust } from './trust.ts';

/** The parts of the agent that the work on every volume shares. */
export type Agent = {
  readonly host: Host;
  readonly records: Records;
  readonly log: Log;
  readonly cache: Cache;
  readonly watch: Watch;
  readonly unmounting: UnmountPolicy;
  readonly base: Base;
  readonly trust: Trust;
  /** The filesystem of a blank volume whose request names none. */
  readonly defaultFilesystem: Filesystem;
  /** Measures the phases of the work, if metrics are on. */
  readonly observePhase?: PhaseObserver | undefined;
};
