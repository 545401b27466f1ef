import { Problem } from '../../src/api/problem.ts';
import { createKeyedLock, type Holder } from '../../src/lib/keyed-lock.ts';
import type { Agent } from './agent.ts';
import { explainSystemError } from '../host/commands.ts';
import { describeWaiting } from '../host/stuck-commands.ts';

/** One RPC's work: for which volume, at which path. */
export type Work = { readonly operation: string; readonly volumeId: string; readonly path: string };

/** Runs work with an agent that knows whose commands it runs. */
export type VolumeLock = <T>(work: Work, run: (agent: Agent) => Promise<T>) => Promise<T>;

/** What takes a mount down may run while another command is stuck, since it may be what frees it. */
const undoing: ReadonlySet<string> = new Set(['NodeUnpublishVolume', 'NodeUnstageVolume']);

/**
 * Runs work alone for its volume and for its path; a call that finds either busy fails at once (ABORTED). A volume
 * with a command that could not be killed gets no new work (UNAVAILABLE) but its unmount, so that stuck commands
 * never pile up. What the system refused meanwhile becomes a `Problem` here.
 */
export function createVolumeLock(agent: Agent): VolumeLock {
  const lock = createKeyedLock();
  const { watch } = agent;
  return ({ operation, volumeId, path }, run) => {
    const lockFor = (what: string) => ({
      operation,
      busy: (holder: Holder) => {
        const running = watch.running(volumeId);
        const waiting = running?.operation === holder.operation ? `, waiting on "${running.command}"` : '';
        const since = new Date(holder.sinceMs).toISOString();
        return new Problem('ABORTED', `${holder.operation} on ${what} runs since ${since}${waiting}`);
      },
    });
    const work = async () => {
      try {
        return await run(scope(agent, operation, volumeId));
      } catch (error) {
        throw explainSystemError(error);
      }
    };
    return lock.run(`volume ${volumeId}`, lockFor(`volume "${volumeId}"`), () =>
      lock.run(`path ${path}`, lockFor(`path "${path}"`), work),
    );
  };
}

function scope(agent: Agent, operation: string, volumeId: string): Agent {
  const { watch, host, unmounting } = agent;
  const stuck = watch.stuck(volumeId);
  const inTheWay = undoing.has(operation) ? watch.stuck(volumeId, undoing) : stuck;
  if (inTheWay) throw new Problem('UNAVAILABLE', `volume "${volumeId}" hangs: ${describeWaiting(inTheWay)}`);
  const isHung = unmounting.isHung || stuck !== undefined;
  return {
    ...agent,
    host: watch.hostFor(volumeId, operation, host),
    unmounting: { ...unmounting, isHung },
  };
}
