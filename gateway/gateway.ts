import { version } from '../src/lib/version.ts';
import { createAdmin } from './admin/admin.ts';
import type { SessionOptions } from './console/sessions.ts';
import { createApp, type AppDeps } from './http/app.ts';
import type { Console } from './http/console.ts';
import { createRetiredClusters } from './callers/retired.ts';
import { createAuthenticate, type Enrolment } from './callers/authenticate.ts';
import type { EnrolledClusters } from './callers/cluster.ts';
import { createVisits } from './callers/visits.ts';
import type { GatewayConfig } from './config.ts';
import type { ServedConfiguration } from './configuration/configuration.ts';
import type { Changes } from './observability/changes.ts';
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
    readonly configuration: Pick<ServedConfiguration, 'pools' | 'refusedKeys' | 'faults'> & {
      readonly clusters: EnrolledClusters;
      readonly enrolment: () => Enrolment;
    };
    /** The host of this gateway, which tells replicas apart. */
    readonly host?: string | undefined;
    /** The required "aud" of tokens. */
    readonly audience: string;
    /** Tells operators of changes; absent: they ask again and again. */
    readonly events?: Pick<Changes, 'open'> | undefined;
    /** Creates the console, if there is one. Serverless gateways do not load its code. */
    readonly openConsole?: ((parts: Omit<SessionOptions, 'identity'>) => Console) | undefined;
    readonly keepDeletedMs: number;
    readonly keepAuditLogMs?: number | undefined;
    /** The age at which the list of retired clusters is read again. */
    readonly retiredEveryMs?: number | undefined;
    /** The interval of sweeps, if the process lives only for one sweep. */
    readonly beginsEveryMs?: number | undefined;
  };

/** The parts made from settings and from the gateway's key. */
export function partsOf(config: GatewayConfig, { keySet, signDetached }: OwnIdentity) {
  return {
    audience: config.audience,
    leaseMs: config['claim-lease'],
    keepDeletedMs: config['keep-deleted'],
    keepAuditLogMs: config['keep-audit-log'],
    publicDocs: config['public-docs'],
    keySet,
    signDetached,
  } satisfies Partial<GatewayParts>;
}

/** The app, the services, and all their parts. `operations.idle()` resolves once no operation runs. */
export type Gateway = ReturnType<typeof createGateway>;

/** Puts the parts together, for any runtime that speaks Fetch. It opens nothing and starts nothing by itself. */
export function createGateway({
  configuration,
  audience,
  retiredEveryMs,
  openConsole,
  events,
  ...given
}: GatewayParts) {
  const { pools, clusters, enrolment, refusedKeys: keyFaults, faults: configurationFaults } = configuration;
  const operations = createOperations(given);
  const common = { ...given, version, pools, clusters, operations, slices: createSlices() };
  const services = createServices(common);
  const recovery = createRecovery({ ...given, services });
  const { skewMs } = recovery;
  const retired = createRetiredClusters(given.engine, retiredEveryMs);
  const visits = createVisits(clusters);
  const servesConsole = openConsole !== undefined;
  const facts = { ...visits, skewMs, keyFaults, configurationFaults, retired, servesConsole };
  const parts = { ...common, ...services, ...facts, recovery };
  const verify = retired.guard(createAuthenticate(enrolment, audience));
  const { engine } = given;
  const app = createApp({
    ...parts,
    admin: createAdmin(parts),
    authenticate: visits.watch(verify),
    events: events && { ...events, verify },
    console: openConsole?.({ engine, enrolment, audience }),
  });
  return { ...parts, visits, app };
}
