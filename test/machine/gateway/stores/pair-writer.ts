import { openSqlite } from '../../../../gateway/stores/sqlite.ts';

// Writes pairs of rows, each in a transaction, and prints each durable pair, until it is killed.
const engine = openSqlite(process.argv[2] ?? '');
const [last] = await engine.reader.all('select max(pair) as pair from halves');
for (let pair = Number(last?.pair ?? 0) + 1; ; pair++) {
  await engine.transaction(async sql => {
    await sql.run('insert into halves values (?, 1, ?)', pair, 'x'.repeat(20_000));
    await new Promise(setImmediate);
    await sql.run('insert into halves values (?, 2, ?)', pair, 'x'.repeat(20_000));
  });
  process.send?.(pair);
}
