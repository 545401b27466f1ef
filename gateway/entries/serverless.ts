import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { toDocument, unavailableProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
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

/** What of the gateway's settings, as variables, is there; `FAIRLEAD_FILES…` hold files as JSON: texts by name. */
export type Environment = Readonly<Record<string, unknown>>;

/** What a runtime ends early, and where it has a directory for files. */
type ServerlessOptions = {
  /** The longest that a request waits for its work, in milliseconds. */
  readonly mostWaitMs: number;
  /** Files of the environment are written here; nobody else may read it. */
  readonly directory: string;
};

/** Backends that need no machine of their own. */
const plugins = { memory, rest } as const;

const filesSchema = z.record(z.string(), z.string());

/** How often the runtime is to call `sweep`, in milliseconds. */
const sweepEveryMs = 60_000;

/** Serves where no process lives on: each request opens the store and the pools, and closes them when its work has ended. */
export function createServerless({ mostWaitMs, directory }: ServerlessOptions) {
  /** Of stores whose tables are this release's, since this instance began; by the URL's file. */
  const storeIds = new Map<string, string>();
  /** Whether it must be looked again whose the pools are, by the store's id. */
  const isDueFor = new Map<string, () => boolean>();

  async function open(env: Environment) {
    await using opened = new AsyncDisposableStack();
    const config = readConfig(env, directory);
    const log = createLog('gateway', config['log-level']);
    const engine = await openPostgres(config.store.path);
    opened.defer(() => engine.close());
    const id = storeIds.get(config.store.path) ?? (await migrate(engine));
    storeIds.set(config.store.path, id);
    const name = config['gateway-name'] ?? `gateway-${id.slice(0, 8)}`;
    // One that is made here would be gone with the instance.
    const identity = createIdentity(name, config['key-file'] ?? join(directory, 'no-key-file', 'keys.json'));
    const owner: Owner = { id, reader: engine.reader, adopted: config['adopt-pools'] ?? [] };
    const isDue = isDueFor.get(id)?.() ?? true;
    const requireOwned = async (pool: Pool): Promise<void> => (isDue ? own(pool, owner) : undefined);
    const configuration = await openConfiguration(config.config, { plugins, log, identity, requireOwned });
    opened.defer(() => configuration.close());
    if (isDue) await requireKnownPools(engine.reader, configuration.pools);
    // What could not be reached has not been looked at.
    if (isDue && configuration.pools.waiting().size === 0) isDueFor.set(id, startTimeLimit(sweepEveryMs));
    const gateway = createGateway({
      engine,
      configuration,
      log,
      ...partsOf(config, identity),
      mostWaitMs,
      beginsEveryMs: sweepEveryMs,
    });
    const moved = opened.move();
    return { ...gateway, close: () => moved.disposeAsync() };
  }

  return {
    /** Answers a request; `waitUntil` is given what goes on after the answer. */
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

    /** Finishes what requests have left, and deletes what is soft-deleted and whose time is over; to be called each minute. */
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
  const usual = {
    FAIRLEAD_CONFIG: join(directory, 'gateway.yaml'),
    FAIRLEAD_STORE: `postgres:${join(directory, 'store.url')}`,
  };
  const { values, faults } = readSettings(gatewaySettings, {
    argv: [],
    env: { ...usual, ...Object.fromEntries(settings) },
  });
  if (!values) throw new AggregateError(faults);
  if (values.store.kind !== 'postgres') throw new Error('the store must be one of PostgreSQL here');
  return values;
}

/** The texts of a variable's files by name. What a parser says of others would quote it, and so what is secret in it. */
function readFiles(variable: string, value: unknown): Readonly<Record<string, string>> {
  const { data } = filesSchema.safeParse(parseJson(String(value)));
  if (!data) throw new Error(`${variable}: must be a JSON object with the files' texts by name`);
  return data;
}

/** What is wrong is for the log alone: nobody has proved who asks. */
function refuse(error: unknown, log: Log): Response {
  const faults: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  for (const fault of faults)
    log.error('the gateway cannot be opened', {
      detail: fault instanceof Error ? fault.message : String(fault),
    });
  const document = toDocument(unavailableProblem('the gateway cannot work now'), crypto.randomUUID());
  return Response.json(document, {
    status: document.status,
    headers: { 'content-type': 'application/problem+json', 'retry-after': '5' },
  });
}
