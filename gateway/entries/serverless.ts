import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { toDocument, unavailableProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import { startFaultsOf } from '../../src/lib/lifecycle.ts';
import type { Log } from '../../src/lib/log.ts';
import { createLog } from '../../src/lib/log.ts';
import { readSettings } from '../../src/lib/settings.ts';
import { startTimeLimit } from '../../src/lib/concurrency.ts';
import { memory } from '../backends/memory.ts';
import { rest } from '../backends/rest.ts';
import { gatewaySettings, type GatewayConfig } from '../config.ts';
import { openConfiguration } from '../configuration/configuration.ts';
import { createGateway, partsOf } from '../gateway.ts';
import { createIdentity } from '../pools/identity.ts';
import { own, type Owner } from '../pools/owner.ts';
import { requireKnownPools, type Pool } from '../pools/pools.ts';
import { openPostgres } from '../stores/postgres.ts';
import { migrate } from '../tables/schema.ts';

/** The gateway's settings as variables. `FAIRLEAD_FILES…` contain files as JSON objects of texts by name. */
export type Environment = Readonly<Record<string, unknown>>;

/** The limits of the runtime, and its directory for files. */
type ServerlessOptions = {
  /** The maximum time that a request waits for its work, in milliseconds. */
  readonly maxWaitMs: number;
  /** The directory for the environment's files; only this user may read it. */
  readonly directory: string;
};

/** Backends that need no machine of their own. */
const plugins = { memory, rest } as const;

const filesSchema = z.record(z.string(), z.string());

/** The interval between two calls of `sweep` by the runtime, in milliseconds. */
const sweepEveryMs = 60_000;

/**
 * Serves without a long-running process: each request opens the store and the pools, and closes them when its work
 * has ended.
 */
export function createServerless({ maxWaitMs, directory }: ServerlessOptions) {
  /** The ids of stores whose tables this instance has migrated, by the URL's file. */
  const storeIds = new Map<string, string>();
  /** Tells whether the pools' owner marks must be checked again, by the store's id. */
  const isDueFor = new Map<string, () => boolean>();

  async function open(env: Environment) {
    await using opened = new AsyncDisposableStack();
    const config = readConfig(env, directory);
    const log = createLog('gateway', config['log-level'], { format: config['log-format'] });
    const engine = await openPostgres(config.store.path);
    opened.defer(() => engine.close());
    const id = storeIds.get(config.store.path) ?? (await migrate(engine));
    storeIds.set(config.store.path, id);
    const name = config['gateway-name'] ?? `gateway-${id.slice(0, 8)}`;
    // A key created here would be lost with the instance, so the path of a missing key file leads nowhere.
    const identity = createIdentity(name, config['key-file'] ?? join(directory, 'no-key-file', 'keys.json'));
    const owner: Owner = { id, reader: engine.reader, adopted: config['adopt-pools'] ?? [] };
    const isDue = isDueFor.get(id)?.() ?? true;
    const requireOwned = async (pool: Pool): Promise<void> => (isDue ? own(pool, owner) : undefined);
    const configuration = await openConfiguration(config.config, { plugins, log, identity, requireOwned });
    opened.defer(() => configuration.close());
    if (isDue) await requireKnownPools(engine.reader, configuration.pools);
    // Pools that could not be reached are not checked yet.
    if (isDue && configuration.pools.waiting().size === 0) isDueFor.set(id, startTimeLimit(sweepEveryMs));
    const gateway = createGateway({
      engine,
      configuration,
      log,
      ...partsOf(config, identity),
      maxWaitMs,
      beginsEveryMs: sweepEveryMs,
    });
    const moved = opened.move();
    return { ...gateway, close: () => moved.disposeAsync() };
  }

  return {
    /** Answers a request. `waitUntil` gets the work that continues after the answer. */
    async fetch(
      request: Request,
      env: Environment,
      waitUntil: (rest: Promise<void>) => void,
    ): Promise<Response> {
      let opened: Awaited<ReturnType<typeof open>>;
      try {
        opened = await open(env);
      } catch (error) {
        return refuse(error, createLog('gateway', 'error'));
      }
      const { app, operations, close } = opened;
      try {
        return await app.fetch(request);
      } finally {
        waitUntil(operations.idle().then(close));
      }
    },

    /**
     * Finishes work that requests have left, and deletes soft-deleted volumes whose time is over. Call it each
     * minute.
     */
    async sweep(env: Environment): Promise<void> {
      const { recovery, operations, close } = await open(env);
      try {
        await recovery.sweep();
        await operations.idle();
      } finally {
        await close();
      }
    },
  };
}

function readConfig(env: Environment, directory: string): GatewayConfig {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const [variable, text] of Object.entries(env))
    if (variable.startsWith('FAIRLEAD_FILES'))
      for (const [name, content] of Object.entries(readFiles(variable, text)))
        writeFileSync(join(directory, name), content, { mode: 0o600 });
  const settings = Object.entries(env).filter(
    ([name, value]) => typeof value === 'string' && !name.startsWith('FAIRLEAD_FILES'),
  ) as [string, string][];
  const defaults = {
    FAIRLEAD_CONFIG: join(directory, 'gateway.yaml'),
    FAIRLEAD_STORE: `postgres:${join(directory, 'store.url')}`,
  };
  const { values, faults } = readSettings(gatewaySettings, {
    argv: [],
    env: { ...defaults, ...Object.fromEntries(settings) },
  });
  if (!values) throw new AggregateError(faults);
  if (values.store.kind !== 'postgres')
    throw new Error('a serverless gateway needs a PostgreSQL store; set FAIRLEAD_STORE to postgres:FILE');
  return values;
}

/**
 * Parses the files of a variable. The parser's own errors would quote the text, and its secrets, so they are dropped.
 */
function readFiles(variable: string, value: unknown): Readonly<Record<string, string>> {
  const { data } = filesSchema.safeParse(parseJson(String(value)));
  if (!data) throw new Error(`${variable}: must be a JSON object with the files' texts by name`);
  return data;
}

/** Answers UNAVAILABLE. The fault goes only to the log, because the caller has not proved an identity. */
function refuse(error: unknown, log: Log): Response {
  for (const fault of startFaultsOf(error))
    log.error('cannot open the gateway', {
      detail: fault instanceof Error ? fault.message : String(fault),
    });
  const document = toDocument(unavailableProblem('the gateway cannot work at present'), crypto.randomUUID());
  return Response.json(document, {
    status: document.status,
    headers: { 'content-type': 'application/problem+json', 'retry-after': '5' },
  });
}
