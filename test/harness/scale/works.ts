import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { MemoryBackend } from '../../../gateway/backends/memory.ts';
import { readStore } from '../../../gateway/observability/state.ts';
import { migrate } from '../../../gateway/tables/schema.ts';
import { volumeTable } from '../../../gateway/tables/volumes.ts';
import { allOperations } from '../../../src/api/operations.ts';
import { operatorCli } from '../cli/run-cli.ts';
import {
  newVolume,
  type CleanupScope,
  type Gateway,
  type GatewayOptions,
  openGateway,
  openMemory,
  temporaryDirectory,
  volumeSpec,
} from '../gateway.ts';
import { createSigner } from '../gateway/signers.ts';
import { fillStore, type StoreSizes, templates } from './full-store.ts';
import { type GatewayRequest, preparations, visits } from './visits.ts';
import { listen } from '../listen.ts';

/** A gateway on a store with many rows, and its operator's command line. */
export type FilledGateway = Gateway & { readonly fairlead: ReturnType<typeof operatorCli> };

/** A task of a gateway, and the preparation before it; each round has ids of its own. */
export type Work = {
  readonly name: string;
  readonly before: (gateway: FilledGateway, round: number) => Promise<unknown>;
  readonly work: (gateway: FilledGateway, round: number) => Promise<unknown>;
};

/** The largest number of rounds of a task. */
export const maxRounds = 20;

/**
 * Makes a gateway with these numbers of rows in its store, and a storage that knows few of them. By default the store
 * is a SQLite file.
 */
export async function openFilled(
  t: CleanupScope,
  sizes: StoreSizes,
  options: Pick<GatewayOptions<MemoryBackend>, 'store' | 'wrapEngine'> = {},
): Promise<FilledGateway> {
  const backend = { ...(await openMemory(2 ** 50)), forgetNode: async () => {} };
  const store = join(temporaryDirectory(t), 'store.sqlite');
  const keeping = { keepDeletedMs: 3_600_000, keepAuditLogMs: 86_400_000 };
  const gateway = await openGateway(t, { store, ...options, backend, ...keeping });
  for (let round = 0; round < maxRounds; round++) await backend.create(newVolume(`orphan${round}`));
  for (const asked of preparations) await askSuccessfully(gateway, asked);
  await fillStore(gateway.engine, sizes);
  // Counts the rows, as a gateway does at its start.
  await migrate(gateway.engine);
  return { ...gateway, fairlead: await serveOperator(t, gateway) };
}

/** Sends a request; fails unless it succeeds. */
export async function askSuccessfully(gateway: Gateway, [route, options]: GatewayRequest): Promise<void> {
  const answer = await gateway.send(route, options);
  const text = await answer.text();
  assert.ok(answer.ok, `${route}: ${answer.status} ${text}`);
}

const nothing = async (): Promise<void> => {};

const operationWorks: readonly Work[] = allOperations.flatMap(({ id }) =>
  visits[id].map(({ before = () => [], request }): Work => ({
    name: `${id}: ${request(1)[0]}`,
    async before(gateway, round) {
      for (const asked of before(round)) await askSuccessfully(gateway, asked);
    },
    work: (gateway, round) => askSuccessfully(gateway, request(round)),
  })),
);

const ownWorks: readonly Work[] = [
  { name: 'a sweep', before: nothing, work: ({ recovery }) => recovery.sweep() },
  {
    name: 'a sweep that finishes a volume',
    before: (gateway, round) => leaveUnfinished(gateway, `a.left${round}`),
    work: ({ recovery }) => recovery.sweep(),
  },
  {
    name: 'a refused call',
    before: nothing,
    async work(gateway, round) {
      const answer = await gateway.send(`PUT /v1/volumes/${templates.volume}/size`, {
        body: { requiredBytes: 2 ** 52 + round },
      });
      assert.equal(answer.status, 416, await answer.text());
    },
  },
  { name: 'metrics of the store', before: nothing, work: ({ engine }) => readStore(engine.reader) },
];

const commandWorks: readonly Work[] = [
  'top',
  'get clusters a b',
  'get pools',
  'get queues',
  'get operations --cluster b',
  'get volumes b.own',
  'get volumes --limit 50',
  'get nodes --cluster a none',
  'get audit-log b.own',
  'describe volume b.own',
  'describe node a/own',
  'explain b.own',
  'explain a.nowhere',
].map(line => ({
  name: `fairlead ${line}`,
  before: nothing,
  work: async ({ fairlead }: FilledGateway) => {
    const { stdout, stderr } = await fairlead(line);
    assert.ok(stdout !== '' || /^(there is no|no \w+ found)/.test(stderr), stderr);
  },
}));

/** The tasks of a gateway for callers, operators and itself; each must cost the same in a store of any size. */
export const works: readonly Work[] = [...operationWorks, ...ownWorks, ...commandWorks];

/** Leaves a volume as a gateway does that dies during create. */
async function leaveUnfinished(gateway: Gateway, id: string): Promise<void> {
  await askSuccessfully(gateway, [`PUT /v1/volumes/${id}`, { body: volumeSpec(id) }]);
  await gateway.engine.transaction(sql => volumeTable.update(sql, { id }, { state: 'creating' }));
}

/** Serves the gateway to an operator and returns the operator's command line. */
async function serveOperator(t: CleanupScope, { send }: Gateway): Promise<FilledGateway['fairlead']> {
  const server = createServer(async ({ method, url }, response) => {
    const answer = await send(`${method} ${url}`, { as: 'operator' });
    response.writeHead(answer.status, [...answer.headers].flat()).end(await answer.text());
  });
  const url = `http://${await listen(t, server)}`;
  const operators = await createSigner('operators');
  return operatorCli({ url, directory: temporaryDirectory(t), signers: { operators } });
}
