import { version } from '../src/lib/version.ts';
import { createAdmin } from './admin/admin.ts';
import { createApp, type AppDeps } from './http/app.ts';
import { createAuthenticate } from './http/auth.ts';
import type { GatewayConfig } from './config.ts';
import type { ServedConfiguration } from './configuration/configuration.ts';
import { createOperations, type OperationsOptions } from './operations/operation.ts';
import { createRecovery } from './operations/recovery.ts';
import type { ServiceOptions } from './operations/service-options.ts';
import type { OwnIdentity } from './pools/identity.ts';
import { createServices } from './services.ts';
import { createTurns } from './tenancy/turns.ts';

/** What a gateway is made of once its store and its pools are open. */
type GatewayParts = OperationsOptions &
  Pick<AppDeps, 'log' | 'publicDocs' | 'keySet' | 'observer' | 'mostWaitMs'> &
  Pick<ServiceOptions, 'signDetached'> & {
    readonly configuration: Pick<ServedConfiguration, 'pools' | 'clusters' | 'enrolment'>;
    /** What a token must have as its "aud". */
    readonly audience: string;
    readonly keepDeletedMs: number;
    readonly keepAuditMs: number;
    /** Where a process lives for one sweep alone: how often there is one. */
    readonly beginsEveryMs?: number | undefined;
  };

/** What of a gateway its settings say, and its own identity. */
export function partsOf(config: GatewayConfig, { keySet, signDetached }: OwnIdentity) {
  return {
    audience: config.audience,
    leaseMs: config['claim-lease'],
    keepDeletedMs: config['keep-deleted'],
    keepAuditMs: config['keep-audit'],
    publicDocs: config['public-docs'] === 'true',
    keySet,
    signDetached,
  } satisfies Partial<GatewayParts>;
}

/** What serves and what sweeps. `operations.idle()` resolves once nothing runs. */
export type Gateway = ReturnType<typeof createGateway>;

/** Puts the parts together, for any runtime that speaks Fetch. Nothing is opened, and nothing runs by itself. */
export function createGateway({ configuration, audience, ...parts }: GatewayParts) {
  const { engine, keepDeletedMs, signDetached } = parts;
  const { pools, clusters, enrolment } = configuration;
  const operations = createOperations(parts);
  const turns = createTurns();
  const services = createServices({ engine, pools, operations, turns, keepDeletedMs, signDetached });
  const recovery = createRecovery({ ...parts, services });
  const admin = createAdmin({ engine, pools, operations, recovery, turns, clusters, ...services });
  const authenticate = createAuthenticate(enrolment, audience);
  const app = createApp({ ...parts, pools, ...services, turns, admin, authenticate, version });
  return { app, operations, recovery };
}
