import { join } from 'node:path';
import { createAdmin } from '../../gateway/admin/admin.ts';
import { createApp } from '../../gateway/http/app.ts';
import type { Backend } from '../../gateway/backend.ts';
import { memory } from '../../gateway/backends/memory.ts';
import { migrate } from '../../gateway/tables/schema.ts';
import { createPools } from '../../gateway/pools/pools.ts';
import { createServices } from '../../gateway/services.ts';
import { openSqlite } from '../../gateway/stores/sqlite.ts';
import { createRecovery } from '../../gateway/operations/recovery.ts';
import { createOperations } from '../../gateway/operations/operation.ts';
import type { VolumeSpec } from '../../src/api/volume.ts';
import { silentLog } from '../../src/lib/log.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import type { Bench, Figure } from './figure.ts';
import { measureInserts } from './inserts.ts';
import { measureRate } from './rate.ts';
import { openPlugin } from '../harness/open-plugin.ts';

const concurrencies = [1, 32];
const cluster = { name: 'dev', issuer: 'dev', acceptAnyNode: true, pools: undefined };
const sizeBytes = 2 ** 30;

/** What the gateway itself costs, with neither a network nor a storage. */
export const gatewayBench: Bench = {
  name: 'gateway',
  doc: 'volumes made per second inside the gateway, durable, over a backend that does nothing, beside durable SQLite inserts',
  run: measureGateway,
};

async function measureGateway(): Promise<readonly Figure[]> {
  const dir = makeTemporaryDirectory();
  const engine = openSqlite(join(dir, 'store.sqlite'));
  try {
    await migrate(engine);
    const backend: Backend = {
      ...(await openPlugin(memory, { capacity: 2 ** 50 })),
      create: async () => ({ sizeBytes }),
    };
    const pools = createPools(() => [{ name: 'main', backend }]);
    const operations = createOperations({ engine });
    const services = createServices({ engine, pools, operations });
    const recovery = createRecovery({ engine, services, log: silentLog });
    const admin = createAdmin({ engine, pools, operations, recovery });
    const authenticate = async () => cluster;
    const app = createApp({
      pools,
      admin,
      ...services,
      authenticate,
      version: '0',
      log: silentLog,
      publicDocs: false,
    });
    const byService = async (name: string) => services.volumes.create(cluster, `dev.${name}`, specOf(name));
    const byHttp = async (name: string): Promise<void> => {
      const body = JSON.stringify(specOf(name));
      const { status } = await app.request(`/v1/volumes/dev.${name}`, { method: 'PUT', body });
      if (status !== 201) throw new Error(`the gateway answered ${status}`);
    };
    const figures: Figure[] = [];
    for (const concurrency of concurrencies) {
      const floor = {
        name: 'durable SQLite inserts',
        value: measureInserts(join(dir, `${concurrency}.sqlite`)),
      };
      const service = await measureRate(concurrency, index => byService(`s-${concurrency}-${index}`));
      const http = await measureRate(concurrency, index => byHttp(`h-${concurrency}-${index}`));
      const goal = concurrency === 32 ? { target: '≥ 0.6×' } : {};
      figures.push({
        name: `service at concurrency ${concurrency}`,
        value: service,
        unit: '/s',
        floor,
        ...goal,
      });
      figures.push({ name: 'with the HTTP edge', value: http, unit: '/s', floor, ...goal });
    }
    return figures;
  } finally {
    await engine.close();
    removeTemporaryDirectory(dir);
  }
}

function specOf(name: string): VolumeSpec {
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ext4' } as const;
  return { name, requiredBytes: sizeBytes, capabilities: [capability] };
}
