import { startPostgres } from '../harness/postgres.ts';
import type { CleanupScope } from '../harness/temporary.ts';
import { median } from '../harness/values.ts';
import { inScope, timed, type Bench, type Figure } from './figure.ts';
import { openFloor, startReplica, type Server } from './gateway.ts';
import { forEach } from './processes.ts';

const [replicas, inFlight, perRound] = [3, 96, 300] as const;
const [warmUps, rounds] = [1, 5] as const;
/** The delay of each commit that stands for a slow disk or a distant standby, in milliseconds. */
const slowMs = 10;

/** Measures how the rate of creates on one PostgreSQL grows with the number of gateways. */
export const replicasBench: Bench = {
  name: 'replicas',
  doc: `creates a second of ${replicas} gateways on one PostgreSQL at ${inFlight} in flight beside those of one, and the same of bare Hono routes with two durable inserts; also with commits that take ${slowMs} ms longer`,
  run: async () => [
    ...(await inScope(t => measure(t, 0, ''))),
    ...(await inScope(t => measure(t, slowMs, `, commits ${slowMs} ms longer`))),
  ],
};

async function measure(t: CleanupScope, delayMs: number, setting: string): Promise<readonly Figure[]> {
  const postgres = await startPostgres({ isDurable: true });
  t.after(() => postgres.end());
  const createDatabase = async (name: string): Promise<string> => {
    const urlFile = await postgres.createDatabase(name);
    await postgres.query(`alter database ${name} set commit_delay = ${delayMs * 1_000}`);
    await postgres.query(`alter database ${name} set commit_siblings = 0`);
    return urlFile;
  };
  const [ours, theirs] = [await createDatabase('ours'), await createDatabase('theirs')];
  const [gateways, routes]: [Server[], Server[]] = [[], []];
  for (let index = 0; index < replicas; index++) {
    gateways.push(await startReplica(t, `postgres:${ours}`));
    routes.push(await openFloor(t, 'bare-pg.ts', theirs));
  }
  const works = { one: gateways.slice(0, 1), all: gateways, oneRoute: routes.slice(0, 1), allRoutes: routes };
  const rates = new Map(Object.keys(works).map(name => [name, new Array<number>()]));
  for (let round = 0; round < warmUps + rounds; round++)
    for (const [name, servers] of Object.entries(works))
      rates.get(name)?.push(await measureRate(servers, `${name.toLowerCase()}-${round}`));
  const rateOf = (name: keyof typeof works): number => median((rates.get(name) ?? []).slice(warmUps));
  return [
    {
      name: `creates by ${replicas} gateways${setting}`,
      value: rateOf('all'),
      unit: '/s',
      floor: ['one gateway', rateOf('one')],
      target: '≥ 1.8×',
    },
    {
      name: `the same by ${replicas} bare routes${setting}`,
      value: rateOf('allRoutes'),
      unit: '/s',
      floor: ['one bare route', rateOf('oneRoute')],
    },
  ];
}

/** Creates the volumes of a round by these servers in rotation, and returns the number per second. */
async function measureRate(servers: readonly Server[], prefix: string): Promise<number> {
  const tookMs = await timed(() =>
    forEach({ from: 0, to: perRound, concurrency: inFlight }, async index =>
      servers[index % servers.length]?.send('PUT', `${prefix}-${index}`),
    ),
  );
  return (perRound * 1_000) / tookMs;
}
