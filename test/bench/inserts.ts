import { DatabaseSync } from 'node:sqlite';

const inserts = 2_000;

/** Durable single-row inserts per second into a new SQLite file, each with a commit of its own: the floor of a store. */
export function measureInserts(path: string): number {
  const database = new DatabaseSync(path);
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE row (id TEXT PRIMARY KEY, spec TEXT)',
  );
  const insert = database.prepare('INSERT INTO row VALUES (?, ?)');
  const startMs = performance.now();
  for (let index = 0; index < inserts; index++) insert.run(`dev.pvc-${index}`, 'x'.repeat(300));
  const perSecond = (inserts / (performance.now() - startMs)) * 1000;
  database.close();
  return perSecond;
}
