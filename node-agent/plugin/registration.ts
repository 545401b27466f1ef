import { join } from 'node:path';
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
  readonly pauseMs?: (refusals: number) => number;
  /** How long kubelet may take to ask at first before a warning, in milliseconds. */
  readonly patienceMs?: number;
  /** How often to look whether the socket is still there, in milliseconds. */
  readonly lookMs?: number;
};

/** How the registration stands: not asked for yet, or what kubelet said last. */
export type RegistrationState =
  | { readonly status: 'waiting' }
  | { readonly status: 'registered' }
  | { readonly status: 'refused'; readonly reason: string };

/** A registration that is served. */
export interface Registration {
  readonly state: RegistrationState;
  /** How often kubelet refused it since the start. */
  readonly refusals: number;
  /** Removes the socket, which is how kubelet learns that the driver has ended. */
  close(): Promise<void>;
}

const leastPauseMs = 1_000;
const mostPauseMs = 60_000;
const defaultPatienceMs = 60_000;
const defaultLookMs = 2_000;
/** The most of kubelet's reason that is logged, in characters. */
const reasonCap = 500;

/**
 * Offers the driver to kubelet, as node-driver-registrar does beside other drivers. Kubelet finds the socket
 * `<directory>/<driver>-reg.sock`, now or when it starts, and nothing else is made there. Kubelet does not ask again by
 * itself after some refusals, so a refused driver makes its socket anew, after ever longer pauses. A socket that
 * somebody removes is made anew, too.
 */
export async function startRegistration(options: RegistrationOptions): Promise<Registration> {
  const { directory, driverName, log, lookMs = defaultLookMs } = options;
  const socketPath = join(directory, `${driverName}-reg.sock`);
  const standing = createStanding(options, () => void offer.renew());
  const handlers: Handlers<RegistrationHandlers> = {
    GetInfo: async () => describePlugin(options),
    async NotifyRegistrationStatus({ plugin_registered, error }) {
      if (plugin_registered) standing.accept();
      else standing.refuse(error.slice(0, reasonCap));
      return {};
    },
  };
  const services = [{ definition: loadRegistration().service, handlers }];
  const offer = await createOffer(socketPath, () => serve({ socketPath, services, log }), log);
  const looking = repeat(offer.ensure, lookMs);
  return {
    get state() {
      return standing.state;
    },
    get refusals() {
      return standing.refusals;
    },
    async close() {
      standing.end();
      await looking.close();
      await offer.close();
    },
  };
}

/** A socket that kubelet finds. None of these throws. */
type Offer = {
  /** Makes the socket anew where it is gone, unless a live instance has its path. */
  ensure(): Promise<void>;
  /** Makes the socket anew in any case. */
  renew(): Promise<void>;
  close(): Promise<void>;
};

async function createOffer(endpoint: string, bind: () => Promise<GrpcServer>, log: Log): Promise<Offer> {
  const inTurn = createKeyedQueue();
  let server: GrpcServer | undefined = await bind();
  let lastFault: string | undefined;
  const bindAgain = async (): Promise<void> => {
    const wasBound = server?.isBound();
    await server?.close();
    server = undefined;
    try {
      server = await bind();
      if (!wasBound) log.warn('socket was gone and is bound again', { endpoint });
      lastFault = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== lastFault) log.error('socket is lost', { endpoint, detail: message });
      lastFault = message;
    }
  };
  return {
    ensure: () => inTurn('socket', async () => (server?.isBound() ? undefined : bindAgain())),
    renew: () => inTurn('socket', bindAgain),
    close: () => inTurn('socket', async () => server?.close()),
  };
}

type Standing = {
  readonly state: RegistrationState;
  readonly refusals: number;
  accept(): void;
  refuse(reason: string): void;
  end(): void;
};

/** What kubelet said last; after a refusal `retry` is called once a pause is over. */
function createStanding(
  { log, directory, pauseMs = jitteredPauseMs, patienceMs = defaultPatienceMs }: RegistrationOptions,
  retry: () => void,
): Standing {
  let state: RegistrationState = { status: 'waiting' };
  let refusals = 0;
  let inARow = 0;
  const warn = (): void =>
    log.warn('kubelet has not asked for the registration yet: is this the directory that it watches?', {
      path: directory,
    });
  let timer = setTimeout(warn, patienceMs).unref();
  return {
    get state() {
      return state;
    },
    get refusals() {
      return refusals;
    },
    accept() {
      clearTimeout(timer);
      if (state.status !== 'registered') log.info('registered with kubelet');
      state = { status: 'registered' };
      inARow = 0;
    },
    refuse(reason) {
      clearTimeout(timer);
      log.error('kubelet refused the registration', { detail: reason });
      state = { status: 'refused', reason };
      refusals++;
      timer = setTimeout(retry, pauseMs(++inARow)).unref();
    },
    end: () => clearTimeout(timer),
  };
}

function describePlugin({ driverName: name, endpoint }: RegistrationOptions) {
  return { type: 'CSIPlugin', name, endpoint, supported_versions: ['1.0.0'] };
}

/** Doubled with every refusal, and spread, so that a cluster's nodes do not ask all at once. */
function jitteredPauseMs(refusals: number): number {
  const pauseMs = Math.min(mostPauseMs, leastPauseMs * 2 ** Math.min(refusals - 1, 10));
  return pauseMs * (0.5 + Math.random() / 2);
}
