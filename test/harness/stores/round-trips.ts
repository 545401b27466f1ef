import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

/** A proxy to a PostgreSQL server that counts round trips. */
type CountingProxy = {
  /** The path of a file with the proxy's URL. */
  readonly urlFile: string;
  /** Returns the round trips of each transaction that has ended since the last call, in order. */
  take(): readonly number[];
  close(): void;
};

const socketName = '.s.PGSQL.5432';

/**
 * Starts a proxy to the database whose URL is in the file; `directory` is the server's. Calls `onSent` with each piece
 * that is sent to the server.
 */
export async function countRoundTrips(
  directory: string,
  urlFile: string,
  onSent: (piece: Buffer) => void = () => undefined,
): Promise<CountingProxy> {
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
      // The last byte tells whether a transaction continues. A single round trip is no transaction.
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
