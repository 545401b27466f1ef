import { Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { explainSystemError } from '../host/commands.ts';
import { describeWaiting } from '../host/stuck-commands.ts';

/** What takes a mount down may run while another command is stuck, since it may be what frees it. */
const undoing: ReadonlySet<string> = new Set(['NodeUnpublishVolume', 'NodeUnstageVolume']);

/**
 * Runs an RPC's work alone for its volume and for its path, with an agent that knows whose commands it runs; a call that
 * finds either busy is ABORTED. A volume with a command that could not be killed gets no new work (UNAVAILABLE) but its
 * unmount, so that stuck commands never pile up. What the system refused meanwhile becomes a `Problem` here.
 */
export function createVolumeLock(agent: Agent) {
  const { watch } = agent;
  const holders = new Map<string, { readonly operation: string; readonly sinceMs: number }>();
  return async <T>(
    operation: string,
    { volumeId, path }: { readonly volumeId: string; readonly path: string },
    run: (own: Agent) => Promise<T>,
  ): Promise<T> => {
    const keys = [`volume "${volumeId}"`, `path "${path}"`];
    for (const key of keys) {
      const holder = holders.get(key);
      if (!holder) continue;
      const running = watch.running(volumeId);
      const waiting = running?.operation === holder.operation ? `, waiting on "${running.command}"` : '';
      const since = new Date(holder.sinceMs).toISOString();
      throw new Problem('ABORTED', `${holder.operation} on ${key} runs since ${since}${waiting}`);
    }
    for (const key of keys) holders.set(key, { operation, sinceMs: Date.now() });
    try {
      return await run(scope(agent, operation, volumeId));
    } catch (error) {
      throw explainSystemError(error);
    } finally {
      for (const key of keys) holders.delete(key);
    }
  };
}

function scope(agent: Agent, operation: string, volumeId: string): Agent {
  const { watch, host, unmounting } = agent;
  const stuck = watch.stuck(volumeId);
  const inTheWay = undoing.has(operation) ? watch.stuck(volumeId, undoing) : stuck;
  if (inTheWay) throw unavailableProblem(`volume "${volumeId}" hangs: ${describeWaiting(inTheWay)}`);
  const isHung = unmounting.isHung || stuck !== undefined;
  return {
    ...agent,
    host: watch.hostFor(volumeId, operation, host),
    unmounting: { ...unmounting, isHung },
  };
}
