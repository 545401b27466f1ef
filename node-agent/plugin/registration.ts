import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server, Socket } from 'node:net';
import { dirname, join } from 'node:path';
import type { RegistrationHandlers } from '../../src/csi/generated/pluginregistration/Registration.ts';
import { loadRegistration } from '../../src/csi/protocol.ts';
import { serve, type GrpcServer } from '../../src/csi/server.ts';
import type { Handlers } from '../../src/csi/call.ts';
import { createKeyedQueue, repeat } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';

/** Who registers where. */
export type RegistrationOptions = {
  /** Kubelet's plugin registry, such as /var/lib/kubelet/plugins_registry; it must exist. */
  readonly directory: string;
  readonly driverName: string;
  /** The CSI socket's path as kubelet sees it. */
  readonly endpoint: string;
  readonly log: Log;
  /** How long to wait after so many refusals in a row before kubelet is asked again, in milliseconds. */
  readonly pauseMs?: ((refusals: number) => number) | undefined;
  /** How long kubelet may take to ask at first before a warning, in milliseconds. */
  readonly patienceMs?: number | undefined;
  /** How often to look whether the socket is still there, in milliseconds. */
  readonly lookMs?: number;
};

/** How the registration stands: what kubelet said last, with the reason for its last refusal, and how often it refused. */
type Standing = {
  status: 'waiting' | 'registered' | 'refused';
  reason: string;
  refusals: number;
};

/** A registration that is served. */
export interface Registration {
  readonly standing: Readonly<Standing>;
  /** Removes the socket, which is how kubelet learns that the driver has ended. */
  close(): Promise<void>;
}

const leastPauseMs = 1_000;
const mostPauseMs = 60_000;
/** The most of kubelet's reason that is logged, in characters. */
const reasonCap = 500;

/**
 * Offers the driver to kubelet by the socket `<directory>/<driver>-reg.sock`. Kubelet does not ask again by itself after some
 * refusals, so a refused driver makes its socket anew, after ever longer pauses; so it does with one that was removed.
 */
export async function startRegistration(options: RegistrationOptions): Promise<Registration> {
  const { directory, driverName, endpoint, log, lookMs = 2_000 } = options;
  const socketPath = join(directory, `${driverName}-reg.sock`);
  const { standing, notify, end } = createStanding(options, () => void socket.renew());
  const requests = watchUnreadable(directory, log);
  const handlers: Handlers<RegistrationHandlers> = {
    async GetInfo() {
      requests.end();
      return { type: 'CSIPlugin', name: driverName, endpoint, supported_versions: ['1.0.0'] };
    },
    async NotifyRegistrationStatus(said) {
      notify(said);
      return {};
    },
  };
  const services = [{ definition: loadRegistration(), handlers }];
  const socket = await openSocket(socketPath, () => serve({ socketPath, services, log }), log);
  const looking = repeat(socket.ensure, lookMs);
  return {
    standing,
    async close() {
      end();
      requests.end();
      await looking.close();
      await socket.close();
    },
  };
}

/** A socket that kubelet finds, and that is made anew where it is missing (`ensure`) or in any case (`renew`). Neither throws. */
async function openSocket(endpoint: string, bind: () => Promise<GrpcServer>, log: Log) {
  const inTurn = createKeyedQueue();
  let server: GrpcServer | undefined = await bind();
  let lastFault: string | undefined;
  const renew = async (isWanted: boolean): Promise<void> => {
    try {
      const isBound = server?.isBound();
      if (isBound && !isWanted) return;
      await server?.close();
      server = undefined;
      server = await bind();
      if (!isBound) log.warn('socket was missing and is bound again', { endpoint });
      lastFault = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== lastFault) log.error('socket is lost', { endpoint, detail: message });
      lastFault = message;
    }
  };
  return {
    ensure: () => inTurn('socket', () => renew(false)),
    renew: () => inTurn('socket', () => renew(true)),
    close: () => inTurn('socket', async () => server?.close()),
  };
}

/** Notes what kubelet says; after a refusal `retry` is called once a pause is over, and nothing is after `end`. */
function createStanding(
  { log, directory, pauseMs = jitteredPauseMs, patienceMs = 60_000 }: RegistrationOptions,
  retry: () => void,
) {
  const standing: Standing = { status: 'waiting', reason: '', refusals: 0 };
  let inARow = 0;
  const warn = (): void =>
    log.warn('kubelet has not asked for the registration yet: is this the directory that it watches?', {
      path: directory,
    });
  let timer = setTimeout(warn, patienceMs).unref();
  return {
    standing,
    notify(said: { readonly plugin_registered: boolean; readonly error: string }): void {
      clearTimeout(timer);
      if (said.plugin_registered) {
        if (standing.status !== 'registered') log.info('registered with kubelet');
        standing.status = 'registered';
        inARow = 0;
        return;
      }
      standing.status = 'refused';
      standing.reason = said.error.slice(0, reasonCap);
      standing.refusals++;
      log.error('kubelet refused the registration', { detail: standing.reason });
      timer = setTimeout(retry, pauseMs(++inARow)).unref();
    },
    end: () => clearTimeout(timer),
  };
}

/** Every socket that a server of this process accepts. */
const accepted = 'net.server.socket';

/** More than HTTP/2 says before a request, which alone has kubelet's path to the socket in it, in bytes. */
const leastRequestBytes = 128;

/**
 * Warns once when requests were sent to the registration socket twice, and none could be read: the HTTP/2 below Node's refuses
 * the socket's path as `:authority`, which kubelet says before 1.29, and shows nobody that it does. Any kubelet may end once
 * before its request is read.
 */
function watchUnreadable(directory: string, log: Log): { end(): void } {
  let isRead = false;
  let unread = 0;
  const watch = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket & { readonly server?: Server } };
    const address = socket.server?.address();
    if (typeof address !== 'string' || dirname(address) !== directory) return;
    socket.once('close', () => {
      if (isRead || socket.bytesRead < leastRequestBytes || ++unread < 2) return;
      end();
      log.warn(
        'kubelet connects and no request of it can be read, as before Kubernetes 1.29: leave --registration-dir out and register with node-driver-registrar',
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

/** Doubled with every refusal, and spread, so that a cluster's nodes do not ask all at once. */
function jitteredPauseMs(refusals: number): number {
  const pauseMs = Math.min(mostPauseMs, leastPauseMs * 2 ** Math.min(refusals - 1, 10));
  return pauseMs * (0.5 + Math.random() / 2);
}
