import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import { cli } from '../../harness/dev.ts';
import { createSigner, volumeSpec } from '../../harness/gateway/gateway.ts';
import { median, type Bench, type Figure } from '../figure.ts';
import { gatewayFlags, readCpuMs, startFloor } from '../processes.ts';
import { inDirectory } from '../setting.ts';
import { forEach } from '../volume.ts';

const warmUp = 4_000;
const perTurn = 1_000;
const rounds = 12;
const concurrencies = [1, 8] as const;
const path = '/v1/volumes/a.one';

/** Measures the CPU time of reading one volume. */
export const getBench: Bench = {
  name: 'get',
  doc: 'CPU of an authenticated GET of a volume by the gateway, which logs each, beside a bare Hono route that answers the same',
  run: () => inDirectory(measureGet),
};

/** A measured server with its client. */
type Server = { readonly pid: number; readonly pool: Pool };

async function measureGet(dir: string): Promise<readonly Figure[]> {
  const signer = await createSigner('a');
  const headers = { authorization: `Bearer ${await signer.sign()}`, 'content-type': 'application/json' };
  writeFileSync(join(dir, 'a.json'), JSON.stringify({ keys: [signer.publicJwk] }));
  const gateway = await startGateway(dir);
  const body = JSON.stringify(volumeSpec('one'));
  const made = await gateway.pool.request({ method: 'PUT', path, headers, body });
  const bare = await startFloor('bare-get.ts', await made.body.text(), gatewayFlags);
  const { port } = bare.ready as { readonly port: number };
  const floor = { pid: bare.child.pid ?? 0, pool: new Pool(`http://127.0.0.1:${port}`) };
  const figures: Figure[] = [];
  for (const concurrency of concurrencies) {
    const [value = 0, floorValue = 0] = await measureAlternately([gateway, floor], headers, concurrency);
    figures.push({
      name: `1,000 authenticated GETs of a volume at concurrency ${concurrency}`,
      value,
      unit: 'ms CPU',
      floor: { name: 'a bare Hono route under the same V8 flags', value: floorValue },
      target: '≤ 1.43×',
    });
  }
  await Promise.all([gateway.pool.close(), floor.pool.close()]);
  bare.child.disconnect();
  await gateway.end();
  return figures;
}

/**
 * Returns each server's median CPU time of a thousand requests, in milliseconds; alternates the servers, so that noise
 * affects all of them.
 */
async function measureAlternately(
  servers: readonly Server[],
  headers: Readonly<Record<string, string>>,
  concurrency: number,
): Promise<readonly number[]> {
  const get = async ({ pool }: Server): Promise<void> => {
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
    await body.dump();
    if (statusCode !== 200) throw new Error(`GET ${path} answered ${statusCode}`);
  };
  const times = servers.map(() => new Array<number>());
  for (const server of servers) await forEach({ from: 0, to: warmUp, concurrency }, () => get(server));
  for (let round = 0; round < rounds; round++)
    for (const [index, server] of servers.entries()) {
      const beforeMs = readCpuMs([server.pid]);
      await forEach({ from: 0, to: perTurn, concurrency }, () => get(server));
      times[index]?.push(readCpuMs([server.pid]) - beforeMs);
    }
  return times.map(median);
}

/** Starts the gateway as in production, with the usual log level. */
async function startGateway(dir: string) {
  const file = { pools: { main: { backend: 'memory' } }, clusters: { a: { keys: 'a.json' } } };
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, JSON.stringify(file));
  const argv = ['--listen=127.0.0.1:0', `--config=${config}`, `--store=${join(dir, 'store.sqlite')}`];
  const child = fork(cli, ['gateway', ...argv], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const [message] = (await once(child, 'message')) as [{ readonly ready: { readonly gateway: string } }];
  return {
    pid: child.pid ?? 0,
    pool: new Pool(message.ready.gateway),
    async end(): Promise<void> {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
