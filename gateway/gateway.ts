import { version } from '../src/lib/version.ts';
import { createAdmin } from './admin/admin.ts';
import { createApp, type AppDeps } from './http/app.ts';
import { createRetiredClusters } from './callers/retired.ts';
import { createAuthenticate } from './callers/authenticate.ts';
import { createVisits } from './callers/visits.ts';
import type { GatewayConfig } from './config.ts';
import type { ServedConfiguration } from './configuration/configuration.ts';
import { createOperations, type OperationsOptions } from './operations/operation.ts';
import { createRecovery } from './recovery.ts';
import type { ServiceOptions } from './operations/service-options.ts';
import type { OwnIdentity } from './pools/identity.ts';
import { createServices } from './services.ts';
import { createSlices } from './scheduling/slices.ts';

/** The parts of a gateway, once its store and its pools are open. */
type GatewayParts = OperationsOptions &
  Pick<AppDeps, 'log' | 'publicDocs' | 'keySet' | 'observer' | 'maxWaitMs'> &
  Pick<ServiceOptions, 'signDetached'> & {
    readonly configuration: Pick<
      ServedConfiguration,
      'pools' | 'clusters' | 'enrolment' | 'refusedKeys' | 'faults'
    >;
    /** The host of this gateway, which tells replicas apart. */
    readonly host?: string | undefined;
    /** The required "aud" of tokens. */
    readonly audience: string;
    readonly keepDeletedMs: number;
    readonly keepAuditMs: number;
    /** The interval of sweeps, if the process lives only for one sweep. */
    readonly beginsEveryMs?: number | undefined;
  };

/** The parts made from settings and from the gateway's key. */
export function partsOf(config: GatewayConfig, { keySet, signDetached }: OwnIdentity) {
  return {
    audience: config.audience,
    leaseMs: config['claim-lease'],
    keepDeletedMs: config['keep-deleted'],
    keepAuditMs: config['keep-audit'],
    publicDocs: config['public-docs'],
    keySet,
    signDetached,
  } satisfies Partial<GatewayParts>;
}

/** The server, the sweeps, and the operations. `operations.idle()` resolves once no operation runs. */
export type Gateway = ReturnType<typeof createGateway>;

/** Puts the parts together, for any runtime that speaks Fetch. It opens nothing and starts nothing by itself. */
export function createGateway({ configuration, audience, ...parts }: GatewayParts) {
  const { host, engine, keepDeletedMs, signDetached } = parts;
  const { pools, clusters, enrolment } = configuration;
  const operations = createOperations(parts);
  const slices = createSlices();
  const services = createServices({
    engine,
    pools,
    operations,
    slices,
    clusters,
    keepDeletedMs,
    signDetached,
  });
  const retired = createRetiredClusters(engine);
  const recovery = createRecovery({ ...parts, services });
  const { refusedKeys: keyFaults, faults: configurationFaults } = configuration;
  const visits = createVisits(clusters);
  const { refusedTokens, lastSeenMs } = visits;
  const admin = createAdmin({
    engine,
    pools,
    operations,
    recovery,
    slices,
    clusters,
    version,
    host,
    skewMs: recovery.skewMs,
    keyFaults,
    configurationFaults,
    refusedTokens,
    lastSeenMs,
    retired,
    ...services,
  });
  const authenticate = visits.watch(retired.guard(createAuthenticate(enrolment, audience)));
  const app = createApp({ ...parts, pools, ...services, slices, admin, authenticate, version });
  return { app, operations, recovery, slices, visits };
}
