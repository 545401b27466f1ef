import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

/** A way to a PostgreSQL server on which is counted how often somebody waited for an answer. */
export type CountedWay = {
  /** The file that holds the URL by which the way is gone. */
  readonly urlFile: string;
  /** How often it was waited, for each transaction that has ended since the last call, in their order. */
  take(): readonly number[];
  close(): void;
};

const socketName = '.s.PGSQL.5432';

/**
 * Lays one to the database whose URL the file holds; `directory` is the server's. `onSent` is called with each piece that
 * is sent to the server.
 */
export async function countRoundTrips(
  directory: string,
  urlFile: string,
  onSent: (piece: Buffer) => void = () => undefined,
): Promise<CountedWay> {
  const own = join(directory, 'counted');
  mkdirSync(own);
  let transactions: number[] = [];
  const server = createServer(client => {
    const upstream = connect(join(directory, socketName));
    let [isAnswered, waits] = [true, 0];
    client.on('data', piece => {
      onSent(Buffer.from(piece));
      if (isAnswered) waits++;
      isAnswered = false;
    });
    upstream.on('data', chunk => {
      isAnswered = true;
      // The last byte says whether a transaction goes on; what takes one way alone is none.
      if (chunk.at(-1) !== 'I'.charCodeAt(0)) return;
      if (waits > 1) transactions.push(waits);
      waits = 0;
    });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => to.destroy());
      from.pipe(to);
    }
  });
  await once(server.listen(join(own, socketName)), 'listening');
  const counted = join(own, 'url');
  writeFileSync(counted, readFileSync(urlFile, 'utf8').replace(directory, own));
  return {
    urlFile: counted,
    take() {
      const taken = transactions;
      transactions = [];
      return taken;
    },
    close: () => void server.close(),
  };
}
