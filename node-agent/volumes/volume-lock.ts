import { Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { UnaryCall } from '../../src/csi/call.ts';
import { createKeyedLock, patienceUntil } from '../../src/lib/concurrency.ts';
import type { Agent } from './agent.ts';
import { explainSystemError } from '../host/commands.ts';
import { describeCommand, type VolumeCommand } from '../host/stuck-commands.ts';

/** RPCs that may run while another command is stuck, since the unmount may free that command. */
const undoing: ReadonlySet<string> = new Set(['NodeUnpublishVolume', 'NodeUnstageVolume']);

/** Time that a call waits for other calls of its volume or path, in milliseconds. */
const defaultPatienceMs = 10_000;
/** Maximum calls that wait for one volume or path, and that run side by side on one volume: each may get a stuck command. */
const [maxWaiting, maxSideBySide] = [128, 8];

/** An RPC on a volume at a path; shared calls of one volume run side by side. */
type VolumeCall = {
  readonly volumeId: string;
  readonly path: string;
  readonly isShared?: boolean;
  /** The caller's RPC; its deadline may shorten the wait. */
  readonly call?: Pick<UnaryCall, 'deadlineMs' | 'signal'>;
};

/** A call that holds the lock or waits for it; `sinceMs`: the start of that. */
type Holder = { readonly operation: string; sinceMs: number };

export type VolumeLock = ReturnType<typeof createVolumeLock>;

/**
 * Locks an RPC's volume and path, then runs its work with an agent that counts the work's commands as the volume's. A shared
 * call runs beside other shared calls of its volume. A call that waits longer than `patienceMs` is ABORTED. A volume with a
 * command that could not be killed is UNAVAILABLE for all work except its unmount, so that stuck commands never pile up.
 * Errors of the system become a `Problem` here.
 */
export function createVolumeLock(agent: Agent, patienceMs = defaultPatienceMs) {
  const { watch } = agent;
  const lock = createKeyedLock<Holder>({ maxWaiting, maxShared: maxSideBySide });
  return async <T>(
    operation: string,
    { volumeId, path, isShared = false, call }: VolumeCall,
    run: (own: Agent) => Promise<T>,
  ): Promise<T> => {
    requireNotStuck(agent, operation, volumeId);
    const holder: Holder = { operation, sinceMs: Date.now() };
    using _ = await lock.acquire(
      [{ key: `volume "${volumeId}"`, isShared }, { key: `path "${path}"` }],
      holder,
      {
        timeoutMs: call ? patienceUntil(call.deadlineMs, patienceMs) : patienceMs,
        signal: call?.signal,
        busy: (key, other, isHeld) =>
          isHeld ? runningProblem(key, other, watch.running(volumeId)) : waitingProblem(key, other),
      },
    );
    holder.sinceMs = Date.now();
    try {
      return await run(scope(agent, operation, volumeId));
    } catch (error) {
      throw explainSystemError(error);
    }
  };
}

function runningProblem(
  key: string,
  { operation, sinceMs }: Holder,
  running: VolumeCommand | undefined,
): Problem {
  const waiting = running?.operation === operation ? `, waiting on "${running.command}"` : '';
  const since = new Date(sinceMs).toISOString();
  return new Problem('ABORTED', `${operation} on ${key} has been running since ${since}${waiting}`);
}

function waitingProblem(key: string, { operation, sinceMs }: Holder): Problem {
  return new Problem(
    'ABORTED',
    `${operation} on ${key} has been waiting since ${new Date(sinceMs).toISOString()}`,
  );
}

function requireNotStuck({ watch }: Agent, operation: string, volumeId: string): void {
  const blocking = undoing.has(operation) ? watch.stuck(volumeId, undoing) : watch.stuck(volumeId);
  if (blocking) throw unavailableProblem(`volume "${volumeId}" hangs: ${describeCommand(blocking)}`);
}

function scope(agent: Agent, operation: string, volumeId: string): Agent {
  const { watch, host, unmounting } = agent;
  requireNotStuck(agent, operation, volumeId);
  const isHung = unmounting.isHung || watch.stuck(volumeId) !== undefined;
  return {
    ...agent,
    host: watch.hostFor(volumeId, operation, host),
    unmounting: { ...unmounting, isHung },
  };
}
