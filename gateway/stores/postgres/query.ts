import type { QueryConfig } from 'pg';
import type { SqlValue } from '../../store.ts';

/** The oids of int8, int2, int4 and numeric. */
const numbers: ReadonlySet<number> = new Set([20, 21, 23, 1700]);

/** Numbers as numbers, everything else as the text that it is. */
export const types = {
  getTypeParser: (oid: number) => (numbers.has(oid) ? Number : (text: string) => text),
} as unknown as NonNullable<QueryConfig['types']>;

type Prepared = { readonly name: string; readonly text: string };
const prepared = new Map<string, Prepared>();

/**
 * A statement with `?` placeholders as PostgreSQL knows it. One with values has a name, under which each connection parses
 * it once: there are only so many, and what differs from one call to the next is a value.
 */
export function toQuery(sql: string, values: readonly SqlValue[]): QueryConfig {
  if (values.length === 0) return { text: sql };
  const known = prepared.getOrInsertComputed(sql, () => {
    let count = 0;
    const text = sql.replaceAll(/'[^']*'|\?/g, found => (found === '?' ? `$${++count}` : found));
    return { name: `fairlead_${prepared.size}`, text };
  });
  return { ...known, values: [...values] };
}

/** A SQLSTATE, or the system's or the driver's short reason; the server's own text may hold values. */
export function reasonOf(error: unknown): string {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return String(code ?? message ?? error);
}
