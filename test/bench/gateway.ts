import { Pool } from 'undici';
import { volumeSpec } from '../harness/gateway.ts';
import { runGateway, type GatewayRun } from '../harness/gateway/program.ts';
import { signerOf } from '../harness/gateway/signers.ts';
import { startPostgres } from '../harness/postgres.ts';
import { temporaryFile, type CleanupScope } from '../harness/temporary.ts';
import type { Figure } from './figure.ts';
import { measureAlternately, startFloor, type Work } from './processes.ts';

/** The V8 flags that `fairlead gateway` sets for itself. */
const gatewayFlags =
  '--semi-space-growth-factor=1 --heap-growing-percent=30 --no-opt --no-maglev-destroy-on-background --no-parallel-scavenge';

/** Measures the gateway alone: reads, a pool over a vendor, and creates on PostgreSQL. */
export async function measureGateway(t: CleanupScope): Promise<readonly Figure[]> {
  const token = await signToken();
  const start = (run: GatewayRun): Promise<Server> => startServer(t, run);
  const local = await start({ pools: { main: { backend: 'memory', capacity: '4096Ti' } } });
  const bareRoute = await openFloor(t, 'bare-hono.ts', await local.send('PUT', 'one'), gatewayFlags);
  const reads = await compare([local, bareRoute], get, {
    perRound: 1_000,
    concurrency: 8,
  });

  const vendor = await openFloor(t, 'memory-vendor.ts');
  const pool = { backend: 'rest', url: vendor.url, token: temporaryFile(t, token) };
  const { pids, send } = await start({ pools: { main: pool } });
  const over = { pids: [...pids, ...vendor.pids], send };
  const pairs = await compare([over, local], pair, { perRound: 75, concurrency: 1 });

  const postgres = await startPostgres({ isDurable: true });
  t.after(() => postgres.end());
  const stored = await start({ flags: { store: `postgres:${await postgres.createDatabase()}` } });
  const inserting = await openFloor(t, 'bare-pg.ts', await postgres.createDatabase());
  const creates = await compare([stored, inserting], put, {
    perRound: 250,
    concurrency: 8,
  });
  return toFigures({ reads, pairs, creates });
}

/** Starts one of several gateways on a store, with room for any number of volumes of cluster `a`. */
export async function startReplica(t: CleanupScope, store: string): Promise<Server> {
  const pools = { main: { backend: 'memory', capacity: '4096Ti' } };
  const clusters = { a: { quota: { bytes: '4096Ti', volumes: 1_000_000 } } };
  return startServer(t, { pools, clusters, flags: { store } });
}

async function startServer(t: CleanupScope, run: GatewayRun): Promise<Server> {
  // The log level and the lease of production; the tests have others.
  const flags = { 'log-level': undefined, 'claim-lease': undefined, ...run.flags };
  const { pid, url } = await runGateway(t, { ...run, flags, process: {} });
  return { pids: [pid], send: senderTo(url, await signToken()) };
}

async function signToken(): Promise<string> {
  return (await signerOf('a')).sign();
}

type Costs = Awaited<ReturnType<typeof measureAlternately>>;

function toFigures({ reads, pairs, creates }: Record<'reads' | 'pairs' | 'creates', Costs>): Figure[] {
  const overVendor = 'PUT + DELETE over a vendor that counts in memory';
  const inGateway = 'the same pool in the gateway itself';
  return [
    {
      name: '1,000 authenticated GETs of a volume at concurrency 8',
      value: reads[0].cpuMs * 1_000,
      unit: 'ms CPU',
      floor: ['a bare Hono route under the same V8 flags', reads[1].cpuMs * 1_000],
      target: '≤ 1.43×',
    },
    { name: overVendor, value: pairs[0].ms, unit: 'ms', floor: [inGateway, pairs[1].ms], target: '≤ 1.6×' },
    {
      name: `${overVendor}, both processes`,
      value: pairs[0].cpuMs,
      unit: 'ms CPU',
      floor: [inGateway, pairs[1].cpuMs],
      target: '≤ 2×',
    },
    {
      name: 'CreateVolume on PostgreSQL at concurrency 8',
      value: creates[0].cpuMs,
      unit: 'ms CPU',
      floor: ['a bare Hono route with two durable inserts', creates[1].cpuMs],
      target: '≤ 0.5 ms',
    },
  ];
}

/** A server with its processes, and a client of it. */
export type Server = {
  readonly pids: readonly number[];
  send(method: 'GET' | 'PUT' | 'DELETE', name: string): Promise<string>;
};

type Request = (send: Server['send'], index: number) => Promise<unknown>;

const get: Request = send => send('GET', 'one');
const put: Request = (send, index) => send('PUT', `pvc-${index}`);
const pair: Request = (send, index) => put(send, index).then(() => send('DELETE', `pvc-${index}`));

/** Compares a request to both servers. */
function compare(
  servers: readonly [Server, Server],
  request: Request,
  size: Parameters<typeof measureAlternately>[1],
): Promise<Costs> {
  const workOn = ({ pids, send }: Server): Work => ({ pids, run: index => request(send, index) });
  return measureAlternately([workOn(servers[0]), workOn(servers[1])], size);
}

/** Starts an HTTP server of floors/ with a client of it; both end with the scope. */
export async function openFloor(t: CleanupScope, file: string, ...argv: readonly string[]) {
  const { pid, ready } = await startFloor(t, file, ...argv);
  const url = `http://127.0.0.1:${ready.port}`;
  return { url, pids: [pid], send: senderTo(url) };
}

/** Returns a function that sends a request for a volume of cluster `a`, and throws unless it succeeds. */
function senderTo(url: string, token = ''): Server['send'] {
  const pool = new Pool(url);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return async (method, name) => {
    const path = `/v1/volumes/a.${name}`;
    const body = method === 'PUT' ? JSON.stringify(volumeSpec(name)) : null;
    const answer = await pool.request({ method, path, headers, body });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path} was answered ${answer.statusCode}`);
    return text;
  };
}
