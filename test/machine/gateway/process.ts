import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../../../src/api/http.ts';
import { createClient, type StorageClient } from '../../../src/api/client.ts';
import { Problem, problemTable } from '../../../src/api/problem.ts';
import type { Rule } from '../../fakes/faulty-backend/rules.ts';
import { createSigner, temporaryDirectory } from '../../harness/gateway/gateway.ts';
import { cli } from '../../harness/dev.ts';
import { storeIn } from '../../harness/stores/store-in.ts';

/** The signer of these gateways' cluster. */
export const signer = await createSigner('a');
const fakeGateway = join(import.meta.dirname, '../../fakes/faulty-backend/gateway.ts');
/** The lease of processes that are killed: long enough that a busy machine does not lose a claim. */
const lease = '1s';
/** The same in milliseconds. */
export const leaseMs = 1_000;
/** The interval of a sidecar's retries; in a cluster it is seconds. */
const retryMs = 100;
const patienceMs = 30_000;

/** A gateway as a process, over image files. */
export type GatewayProcess = {
  readonly child: ChildProcess;
  readonly client: StorageClient;
  readonly url: string;
};

/** A request of a cluster. */
export type Ask = (client: StorageClient, call: Call) => Promise<unknown>;

/** Makes a directory with everything that such gateways need and share, with the given or default pools. */
export function prepareDirectory(t: TestContext, pools?: Readonly<Record<string, object>>): string {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'images'));
  writeFileSync(join(directory, 'a.jwks.json'), JSON.stringify({ keys: [signer.publicJwk] }));
  const images = {
    backend: 'image',
    dir: join(directory, 'images'),
    capacity: '1Ti',
    topology: { zone: 'a' },
  };
  const clusters = { a: { keys: 'a.jwks.json', acceptAnyNode: true } };
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify({ pools: pools ?? { images }, clusters }));
  return directory;
}

/** Starts a gateway that ends with the test; `rules` add faults to its images, and a journal records the calls. */
export async function startProcess(
  t: TestContext,
  directory: string,
  rules: readonly Rule[] = [],
): Promise<GatewayProcess> {
  const env = { FAULT_RULES: JSON.stringify(rules), FAULT_JOURNAL: join(directory, 'journal') };
  return launch(t, directory, { entry: fakeGateway, argv: [], env });
}

/** Starts `fairlead gateway` itself, which ends with the test. */
export async function startRealProcess(t: TestContext, directory: string): Promise<GatewayProcess> {
  return launch(t, directory, { entry: cli, argv: ['gateway'], env: {} });
}

type Program = {
  readonly entry: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

async function launch(
  t: TestContext,
  directory: string,
  { entry, argv, env }: Program,
): Promise<GatewayProcess> {
  const flags = {
    '--listen': '127.0.0.1:0',
    '--config': join(directory, 'gateway.yaml'),
    '--claim-lease': lease,
    '--store': await storeIn(directory),
    '--log-level': 'error',
  };
  const options = { silent: true, env: { ...process.env, ...env } };
  const child = fork(entry, [...argv, ...Object.entries(flags).flat()], options);
  const problems: string[] = [];
  child.stderr?.on('data', chunk => problems.push(String(chunk)));
  t.after(() => killProcess(child));
  const failed = once(child, 'close').then(() => assert.fail(problems.join('')));
  failed.catch(() => undefined);
  const [message] = (await Promise.race([once(child, 'message'), failed])) as [
    { ready: { gateway: string } },
  ];
  const url = message.ready.gateway;
  const client = createClient({ url, token: () => signer.sign() });
  t.after(() => client.close());
  return { child, client, url };
}

/** Kills the process and waits until it has ended. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Sends a request once; the gateway may die before its answer. */
export async function askAndLose({ client, child }: GatewayProcess, ask: Ask): Promise<void> {
  const ended = once(child, 'exit');
  const asked = ask(client, callWithin(patienceMs)).then(
    () => assert.fail('it answered and should have died before'),
    () => undefined,
  );
  const [, signal] = (await ended) as [number | null, string | null];
  assert.equal(signal, 'SIGKILL');
  await client.close();
  await asked;
}

/** Repeats a request after every failure that is not final, as sidecars do. */
export async function askPatiently<T>(
  { client }: Pick<GatewayProcess, 'client'>,
  ask: (client: StorageClient, call: Call) => Promise<T>,
): Promise<T> {
  const deadlineMs = Date.now() + patienceMs;
  for (;;) {
    try {
      return await ask(client, { deadlineMs });
    } catch (error) {
      const tryAgain = error instanceof Problem && !problemTable[error.code].final;
      if (!tryAgain || Date.now() > deadlineMs) throw error;
      await sleep(retryMs);
    }
  }
}

/** Reads the changes of the storage from the journal, as `method id`. */
export function effectsOf(directory: string): readonly string[] {
  const lines = readFileSync(join(directory, 'journal'), 'utf8').trim().split('\n');
  return lines
    .map(line => JSON.parse(line) as { method: string; id: string; done: boolean })
    .filter(({ method, done }) => done && method !== 'capacity')
    .map(({ method, id }) => `${method} ${id}`);
}

/** Makes a call with this timeout. */
export function callWithin(ms: number): Call {
  return { deadlineMs: Date.now() + ms };
}
