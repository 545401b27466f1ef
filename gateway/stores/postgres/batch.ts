import type { Connection, FieldDef, PoolClient, Submittable } from 'pg';
import type { SqlRow, SqlValue } from '../../store.ts';

/** What came of one statement. */
export type Answer = { readonly rows: readonly SqlRow[]; readonly count: number; readonly command: string };

/** One statement of a batch. */
export type Statement = {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
};

/** What a connection has parsed, under which name, and what its rows are made of; undefined until the first answer. */
type Prepared = { readonly name: string; fields: readonly FieldDef[] | undefined };
type Known = Map<string, Prepared> & { names?: number };
const preparedOn = new WeakMap<Connection, Known>();

/** What changes the tables is run once, and has no rows. */
const isOnce = /^\s*(create|alter|drop|do)\b/;

/** The oids of int8, int2, int4 and numeric. */
const numbers: ReadonlySet<number> = new Set([20, 21, 23, 1700]);

const unnamed: Prepared = { name: '', fields: [] };

/**
 * Sends the statements together, which the server answers together: each runs only when those before it have succeeded, and
 * all after one that failed fail with it. `ended` is called once all are answered. Each connection parses and describes a
 * statement once.
 */
export function submitBatch(
  client: PoolClient,
  { statements, ended }: { readonly statements: readonly Statement[]; readonly ended: () => void },
): void {
  const { connection } = client;
  const known: Known = preparedOn.get(connection) ?? new Map<string, Prepared>();
  preparedOn.set(connection, known);
  const used = statements.map(({ sql }) => (isOnce.test(sql) ? unnamed : known.get(sql)));
  let [at, rows]: [number, SqlRow[]] = [0, []];

  const batch = {
    submit() {
      connection.stream.cork?.();
      for (const [index, { sql, values }] of statements.entries()) {
        const prepared = used[index] ?? known.get(sql) ?? { name: `s${names(known)}`, fields: undefined };
        const isNew = prepared === unnamed || !known.has(sql);
        used[index] = prepared;
        if (prepared !== unnamed) known.set(sql, prepared);
        if (isNew) connection.parse({ name: prepared.name, text: toDollars(sql), types: [] }, true);
        connection.bind({ statement: prepared.name, values: values.map(toWire) }, true);
        if (isNew && prepared !== unnamed) connection.describe({ type: 'P' }, true);
        connection.execute(null, true);
      }
      connection.sync();
      connection.stream.uncork?.();
    },
    handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }) {
      const prepared = used[at];
      if (prepared) prepared.fields = fields;
    },
    handleDataRow({ fields: texts }: { readonly fields: readonly (string | null)[] }) {
      rows.push(toRow(used[at]?.fields ?? [], texts));
    },
    handleCommandComplete({ text }: { readonly text: string }) {
      const [prepared, statement] = [used[at++], statements[at - 1]];
      if (prepared) prepared.fields ??= [];
      const [command = '', ...numbersOf] = text.split(' ');
      statement?.resolve({ rows, count: Number(numbersOf.at(-1) ?? 0), command });
      rows = [];
    },
    handleError(error: unknown) {
      // Whether these were parsed nobody knows: they get other names.
      for (const [sql, { fields }] of known) if (!fields) known.delete(sql);
      for (const { reject } of statements.slice(at)) reject(error);
      ended();
    },
    handleReadyForQuery: ended,
  };
  client.query(batch satisfies Submittable);
}

/** A number that no statement of the connection was named by, whatever became of it. */
function names(known: Known): number {
  return (known.names = (known.names ?? 0) + 1);
}

/** `?` placeholders as PostgreSQL has them. */
function toDollars(sql: string): string {
  let count = 0;
  return sql.replaceAll(/'[^']*'|\?/g, found => (found === '?' ? `$${++count}` : found));
}

function toWire(value: SqlValue): string | null {
  return value === null ? null : String(value);
}

function toRow(fields: readonly FieldDef[], texts: readonly (string | null)[]): SqlRow {
  const row: Record<string, SqlValue> = {};
  for (const [index, { name, dataTypeID }] of fields.entries()) {
    const text = texts[index] ?? null;
    row[name] = text !== null && numbers.has(dataTypeID) ? Number(text) : text;
  }
  return row;
}
