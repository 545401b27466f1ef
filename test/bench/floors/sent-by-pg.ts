import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { Pool, type PoolClient } from 'pg';
import { readSent, type SentPiece } from '../stores/sent.ts';
import { forEach, type Range } from '../volume.ts';

// Sends the statements of a create with bare `pg`, which waits for the answers to one piece before it sends the next:
// the floor of every user of `pg`. No request is read, nothing is decided, and the answers are not used.
const [urlFile = '', sentFile = '', flags = ''] = process.argv.slice(2);
setFlagsFromString(flags);
const connectionString = readFileSync(urlFile, 'utf8').trim();
const pool = new Pool({ connectionString, max: 10, pipeline: true });
const { sentFor, names } = readSent(sentFile);

async function create(index: number): Promise<void> {
  let client: PoolClient | undefined;
  for (const piece of sentFor(index)) {
    client ??= await pool.connect();
    await sendTo(client, piece);
    if (piece.at(-1)?.text !== 'commit') continue;
    client.release();
    client = undefined;
  }
}

async function sendTo(client: PoolClient, piece: SentPiece): Promise<void> {
  await Promise.all(
    piece.map(({ text, values }) => client.query({ name: names.get(text) ?? '', text, values: [...values] })),
  );
}

process.on('message', (range: Range) => void forEach(range, create).then(() => process.send?.('done')));
process.once('disconnect', () => void pool.end().then(() => process.exit(0)));
process.send?.('ready');
