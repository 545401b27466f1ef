import type { Sql } from '../store.ts';
import { integer, table, text } from './table.ts';

/** Tokens of the console that are not accepted again: codes that were used, and sessions that were closed. */
export const endedTokenTable = table('ended_tokens', {
  key: ['id'],
  columns: { id: text(), untilMs: integer() },
});

/** Ends a token; returns false if it had ended before. Tokens that have expired since are forgotten. */
export async function endToken(sql: Sql, id: string, untilMs: number): Promise<boolean> {
  await sql.run(`delete from ${endedTokenTable.name} where until_ms < ?`, await sql.now());
  return endedTokenTable.insert(sql, { id, untilMs });
}
