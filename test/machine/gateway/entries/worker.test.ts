import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { bundleWorker } from '../../../../deploy/worker.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { askAt, liveThrough, prepare } from './serverless.ts';
import { endProcess } from '../../../harness/exit.ts';

const server = sharePostgres();
const maxBytes = 700_000;
/** The program itself: npm links a script for another Node.js, which passes no descriptors on. */
const { default: workerd } = createRequire(import.meta.url)('workerd') as { readonly default: string };

test('the worker is one module of at most 700 kB', async t => {
  const bytes = await bundleWorker(join(temporaryDirectory(t), 'worker.js'));
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes <= maxBytes, String(bytes));
});

test(
  'in workerd volumes work, concurrent requests do not wait forever, and a cron trigger sweeps',
  { skip },
  async t => {
    const { env, signer, query } = await prepare(t, await server(), '/tmp/fairlead');
    const { http: address, cron } = await serveWorker(t, env);
    assert.equal((await fetch(`${address}/v1/volumes`)).status, 401);
    const sweep = async (): Promise<void> => {
      const response = await fetch(cron);
      assert.equal(await response.text(), 'ok');
    };
    await liveThrough({ ask: askAt(address, signer), query, sweep });
  },
);

/** A worker that calls the tested one as a cron trigger does, for each request. */
const trigger = `export default {
  async fetch(request, { main }) {
    const { outcome } = await main.scheduled({ cron: '* * * * *' });
    return new Response(outcome);
  },
};`;

/** Serves the worker with these variables; returns its address, and the address that sends it a scheduled event. */
async function serveWorker(
  t: TestContext,
  env: Readonly<Record<string, string>>,
): Promise<{ http: string; cron: string }> {
  const directory = temporaryDirectory(t);
  await bundleWorker(join(directory, 'worker.js'));
  const bindings = Object.entries(env).map(
    ([name, text]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(text)})`,
  );
  writeFileSync(
    join(directory, 'config.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [
        (name = "main", worker = .worker),
        (name = "trigger", worker = .trigger),
        (name = "internet", network = (allow = ["private", "public"])),
      ],
      sockets = [
        (name = "http", address = "127.0.0.1:0", http = (), service = "main"),
        (name = "cron", address = "127.0.0.1:0", http = (), service = "trigger"),
      ],
    );
    const trigger :Workerd.Worker = (
      modules = [(name = "trigger.js", esModule = ${JSON.stringify(trigger)})],
      compatibilityDate = "2026-10-01",
      compatibilityFlags = ["service_binding_extra_handlers"],
      bindings = [(name = "main", service = "main")],
    );
    const worker :Workerd.Worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js")],
      compatibilityDate = "2026-10-01",
      bindings = [${bindings.join()}],
    );`,
  );
  const child = spawn(
    workerd,
    ['serve', '--experimental', '--control-fd=3', join(directory, 'config.capnp')],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    },
  );
  t.after(() => endProcess(child));
  const ports = new Map<string, number>();
  for await (const line of createInterface(child.stdio[3] as NodeJS.ReadableStream)) {
    const { socket = '', port } = JSON.parse(line) as { readonly socket?: string; readonly port?: number };
    if (port !== undefined) ports.set(socket, port);
    if (ports.size === 2) break;
  }
  const addressOf = (socket: string): string => `http://127.0.0.1:${ports.get(socket)}`;
  return { http: addressOf('http'), cron: addressOf('cron') };
}
