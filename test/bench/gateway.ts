import { Pool } from 'undici';
import { volumeSpec } from '../harness/gateway.ts';
import { signerOf } from '../harness/gateway/signers.ts';
import { runGateway, type GatewayRun } from '../harness/gateway/program.ts';
import { startPostgres } from '../harness/postgres.ts';
import { temporaryFile, type CleanupScope } from '../harness/temporary.ts';
import { measureAlternately } from './cost.ts';
import type { Figure } from './figure.ts';
import { gatewayFlags, startFloor } from './processes.ts';

/** Measures the gateway alone: reads, creates on PostgreSQL, and a pool over a vendor. */
export async function measureGateway(t: CleanupScope): Promise<readonly Figure[]> {
  const token = await (await signerOf('a')).sign();
  // The log level and the lease of production; the tests have others.
  const usual = { 'log-level': undefined, 'claim-lease': undefined };
  const start = async ({ flags, ...run }: GatewayRun): Promise<Server> => {
    const gateway = await runGateway(t, { ...run, flags: { ...usual, ...flags }, process: {} });
    return { pids: [gateway.pid], send: senderTo(gateway.url, token), end: gateway.end };
  };
  const local = await start({ pools: { main: { backend: 'memory', capacity: '4096Ti' } } });
  const tokenFile = temporaryFile(t, token);
  const overVendor = (url: string) => start({ pools: { main: { backend: 'rest', url, token: tokenFile } } });
  const figures = [
    await measureReads(local),
    ...(await measureVendor(local, overVendor)),
    await measurePostgres(store => start({ flags: { store } })),
  ];
  await local.end();
  return figures;
}

/** A server with its processes, and a client of it. */
type Server = {
  readonly pids: readonly number[];
  send(method: 'GET' | 'PUT' | 'DELETE', name: string): Promise<string>;
  end(): Promise<unknown>;
};

async function measureReads(gateway: Server): Promise<Figure> {
  const floor = await openFloor('bare-hono.ts', await gateway.send('PUT', 'one'), gatewayFlags);
  const work = ({ pids, send }: Server) => ({ pids, run: () => send('GET', 'one') });
  const size = { perRound: 1_000, concurrency: 8 };
  const [ours, theirs] = await measureAlternately([work(gateway), work(floor)], size);
  await floor.end();
  return {
    name: '1,000 authenticated GETs of a volume at concurrency 8',
    value: ours.cpuMs * 1_000,
    unit: 'ms CPU',
    floor: { name: 'a bare Hono route under the same V8 flags', value: theirs.cpuMs * 1_000 },
    target: '≤ 1.43×',
  };
}

async function measurePostgres(start: (store: string) => Promise<Server>): Promise<Figure> {
  const postgres = await startPostgres({ isDurable: true });
  try {
    const gateway = await start(`postgres:${await postgres.createDatabase()}`);
    const floor = await openFloor('bare-pg.ts', await postgres.createDatabase());
    const work = ({ pids, send }: Server) => ({
      pids,
      run: (index: number) => send('PUT', `pvc-${index}`),
    });
    const size = { perRound: 250, concurrency: 8 };
    const [ours, theirs] = await measureAlternately([work(gateway), work(floor)], size);
    await floor.end();
    await gateway.end();
    return {
      name: 'CreateVolume on PostgreSQL at concurrency 8',
      value: ours.cpuMs,
      unit: 'ms CPU',
      floor: { name: 'a bare Hono route with two durable inserts', value: theirs.cpuMs },
      target: '≤ 0.5 ms',
    };
  } finally {
    await postgres.end();
  }
}

async function measureVendor(
  local: Server,
  start: (url: string) => Promise<Server>,
): Promise<readonly Figure[]> {
  const { child, ready } = await startFloor('memory-vendor.ts');
  const over = await start(urlOf(ready));
  const work = ({ pids, send }: Server) => ({
    pids,
    async run(index: number) {
      await send('PUT', `pvc-${index}`);
      await send('DELETE', `pvc-${index}`);
    },
  });
  const both = { ...over, pids: [...over.pids, child.pid ?? 0] };
  const size = { perRound: 75, concurrency: 1 };
  const [ours, theirs] = await measureAlternately([work(both), work(local)], size);
  await over.end();
  child.disconnect();
  const name = 'PUT + DELETE over a vendor that counts in memory';
  const floor = 'the same pool in the gateway itself';
  return [
    { name, value: ours.ms, unit: 'ms', floor: { name: floor, value: theirs.ms }, target: '≤ 1.6×' },
    {
      name: `${name}, both processes`,
      value: ours.cpuMs,
      unit: 'ms CPU',
      floor: { name: floor, value: theirs.cpuMs },
      target: '≤ 2×',
    },
  ];
}

async function openFloor(file: string, ...argv: readonly string[]): Promise<Server> {
  const { child, ready } = await startFloor(file, ...argv);
  const end = async (): Promise<void> => child.disconnect();
  return { pids: [child.pid ?? 0], send: senderTo(urlOf(ready)), end };
}

function urlOf(ready: unknown): string {
  return `http://127.0.0.1:${(ready as { readonly port: number }).port}`;
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
