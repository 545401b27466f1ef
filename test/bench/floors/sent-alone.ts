import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { Pool, type PoolClient } from 'pg';
import { createFrames } from '../../../gateway/stores/postgres/frames.ts';
import { readSent } from '../stores/sent.ts';
import { forEach, type Range } from '../volume.ts';

// Sends the statements of a create as raw bytes on connections of `pg`, and only looks for the end of each answer: the
// floor of every client that sends these statements.
const [urlFile = '', sentFile = '', flags = ''] = process.argv.slice(2);
setFlagsFromString(flags);
const connectionString = readFileSync(urlFile, 'utf8').trim();
const pool = new Pool({ connectionString, max: 10 });
const { sentFor, names } = readSent(sentFile);

type Connection = ReturnType<typeof takeOver>;
const ways = new Map<PoolClient, Connection>();

function takeOver({ connection: { stream } }: PoolClient) {
  const frames = createFrames();
  const parsed = new Set<string>();
  stream.removeAllListeners('data');
  return {
    add(text: string, values: readonly (string | null)[]): void {
      const name = names.get(text) ?? '';
      if (!parsed.has(name)) frames.parse(name, text);
      parsed.add(name);
      frames.bind(name, values);
      frames.execute();
    },
    async send(): Promise<void> {
      stream.write(frames.take());
      for (;;) {
        const [answer] = (await once(stream, 'data')) as [Buffer];
        if (answer.at(-6) === 'Z'.charCodeAt(0)) return;
      }
    },
  };
}

async function create(index: number): Promise<void> {
  let client: PoolClient | undefined;
  for (const piece of sentFor(index)) {
    client ??= await pool.connect();
    const way = ways.getOrInsertComputed(client, takeOver);
    for (const { text, values } of piece) way.add(text, values);
    await way.send();
    if (piece.at(-1)?.text !== 'commit') continue;
    client.release();
    client = undefined;
  }
}

process.on('message', (range: Range) => void forEach(range, create).then(() => process.send?.('done')));
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
