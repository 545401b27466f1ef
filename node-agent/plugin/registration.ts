import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server, Socket } from 'node:net';
import { dirname, join } from 'node:path';
import type { RegistrationHandlers } from '../../src/csi/generated/pluginregistration/Registration.ts';
import { loadRegistration } from '../../src/csi/protocol.ts';
import { serve, type GrpcServer } from '../../src/csi/server.ts';
import type { Handlers } from '../../src/csi/call.ts';
import { createKeyedQueue, repeat } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import { reasonOf } from '../../src/lib/words/failures.ts';

export type RegistrationOptions = {
  /** Kubelet's plugin registry, such as /var/lib/kubelet/plugins_registry; it must exist. */
  readonly directory: string;
  readonly driverName: string;
  /** The CSI socket's path as kubelet sees it. */
  readonly endpoint: string;
  readonly log: Log;
  /** Returns the pause before the next try after so many consecutive refusals, in milliseconds. */
  readonly pauseMs?: ((refusals: number) => number) | undefined;
  /** Time until a warning if kubelet does not contact the socket, in milliseconds. */
  readonly patienceMs?: number | undefined;
  /** Interval of the checks that the socket still exists, in milliseconds. */
  readonly lookMs?: number;
};

/** The state of the registration: kubelet's last answer, the reason of its last refusal, and the number of refusals. */
type RegistrationState = {
  status: 'waiting' | 'registered' | 'refused';
  reason: string;
  refusals: number;
};

export interface Registration {
  readonly state: Readonly<RegistrationState>;
  /** Removes the socket. Its absence tells kubelet that the driver has ended. */
  close(): Promise<void>;
}

const minPauseMs = 1_000;
const maxPauseMs = 60_000;
/** Maximum length of kubelet's reason in logs, in characters. */
const maxReasonLength = 500;

/**
 * Offers the driver to kubelet by the socket `<directory>/<driver>-reg.sock`. After some refusals kubelet does not try again
 * by itself, so the socket is made again, after growing pauses. A socket that was removed is made again too.
 */
export async function startRegistration(options: RegistrationOptions): Promise<Registration> {
  const { directory, driverName, endpoint, log, lookMs = 2_000 } = options;
  const socketPath = join(directory, `${driverName}-reg.sock`);
  const { state, notify, end } = createState(options, () => void socket.renew());
  const requests = watchUnreadable(directory, log);
  const handlers: Handlers<RegistrationHandlers> = {
    async GetInfo() {
      requests.end();
      return { type: 'CSIPlugin', name: driverName, endpoint, supported_versions: ['1.0.0'] };
    },
    async NotifyRegistrationStatus(answer) {
      notify(answer);
      return {};
    },
  };
  const services = [{ definition: loadRegistration(), handlers }];
  const socket = await openSocket(socketPath, () => serve({ socketPath, services, log }), log);
  const looking = repeat(socket.ensure, lookMs);
  return {
    state,
    async close() {
      end();
      requests.end();
      await looking.close();
      await socket.close();
    },
  };
}

/** Opens the socket. `ensure` makes it again if it is missing, `renew` in any case; neither throws. */
async function openSocket(endpoint: string, bind: () => Promise<GrpcServer>, log: Log) {
  const enqueue = createKeyedQueue();
  let server: GrpcServer | undefined = await bind();
  let lastFault: string | undefined;
  const renew = async (isForced: boolean): Promise<void> => {
    try {
      const isBound = server?.isBound();
      if (isBound && !isForced) return;
      await server?.close();
      server = undefined;
      server = await bind();
      if (!isBound) log.warn('socket was missing and is bound again', { endpoint });
      lastFault = undefined;
    } catch (error) {
      const reason = reasonOf(error);
      if (reason !== lastFault) log.error('cannot bind the socket again', { endpoint, detail: reason });
      lastFault = reason;
    }
  };
  return {
    ensure: () => enqueue('socket', () => renew(false)),
    renew: () => enqueue('socket', () => renew(true)),
    close: () => enqueue('socket', async () => server?.close()),
  };
}

/** Keeps the state. `notify` takes kubelet's answer and after a refusal calls `retry` once a pause is over, unless ended. */
function createState(
  { log, directory, pauseMs = jitteredPauseMs, patienceMs = 60_000 }: RegistrationOptions,
  retry: () => void,
) {
  const state: RegistrationState = { status: 'waiting', reason: '', refusals: 0 };
  let consecutiveRefusals = 0;
  const warn = (): void =>
    log.warn('kubelet has not contacted the registration socket yet; check that it watches this directory', {
      path: directory,
    });
  let timer = setTimeout(warn, patienceMs).unref();
  return {
    state,
    notify(answer: { readonly plugin_registered: boolean; readonly error: string }): void {
      clearTimeout(timer);
      if (answer.plugin_registered) {
        if (state.status !== 'registered') log.info('registered with kubelet');
        state.status = 'registered';
        consecutiveRefusals = 0;
        return;
      }
      state.status = 'refused';
      state.reason = answer.error.slice(0, maxReasonLength);
      state.refusals++;
      log.error('kubelet refused the registration', { detail: state.reason });
      timer = setTimeout(retry, pauseMs(++consecutiveRefusals)).unref();
    },
    end: () => clearTimeout(timer),
  };
}

/** The channel of all sockets that servers of this process accept. */
const accepted = 'net.server.socket';

/** Minimum bytes of a connection with a request: more than HTTP/2 sends before one. */
const minRequestBytes = 128;

/**
 * Warns once if two connections to the registration socket sent requests and none could be read. Kubelets before 1.29 send
 * the socket's path as `:authority`, which Node's HTTP/2 library refuses silently. A single unread connection is no sign,
 * since any kubelet may be stopped before its request is read.
 */
function watchUnreadable(directory: string, log: Log): { end(): void } {
  let isRead = false;
  let unread = 0;
  const watch = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket & { readonly server?: Server } };
    const address = socket.server?.address();
    if (typeof address !== 'string' || dirname(address) !== directory) return;
    socket.once('close', () => {
      if (isRead || socket.bytesRead < minRequestBytes || ++unread < 2) return;
      end();
      log.warn(
        'kubelet connects, but its requests cannot be read, as before Kubernetes 1.29: omit --registration-dir and register with node-driver-registrar',
        { path: directory },
      );
    });
  };
  const end = (): void => {
    isRead = true;
    unsubscribe(accepted, watch);
  };
  subscribe(accepted, watch);
  return { end };
}

/** Doubles the pause with each refusal, and adds jitter so that a cluster's nodes do not try at the same time. */
function jitteredPauseMs(refusals: number): number {
  const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** Math.min(refusals - 1, 10));
  return pauseMs * (0.5 + Math.random() / 2);
}
