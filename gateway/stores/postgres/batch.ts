import type { Connection, FieldDef, PoolClient, Submittable } from 'pg';
import type { SqlRow, SqlValue } from '../../store.ts';
import { createFrames, type Frames } from './frames.ts';

export type StatementResult = {
  readonly rows: readonly SqlRow[];
  readonly count: number;
  readonly command: string;
};

export type Statement = {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  readonly resolve: (answer: StatementResult) => void;
  readonly reject: (error: unknown) => void;
};

/** A prepared statement of a connection: its name, and the fields of its rows, undefined until the first answer. */
type PreparedStatement = { readonly name: string; fields: readonly FieldDef[] | undefined };
type ConnectionState = {
  readonly prepared: Map<string, PreparedStatement>;
  readonly frames: Frames;
  names: number;
};
const stateOf = new WeakMap<Connection, ConnectionState>();

/** Statements that change tables run once and return no rows, so they are not prepared. */
const isOnce = /^\s*(create|alter|drop|do)\b/;

/** The oids of int8, int2, int4 and numeric. */
const numbers: ReadonlySet<number> = new Set([20, 21, 23, 1700]);

const unnamed: PreparedStatement = { name: '', fields: [] };

/**
 * Sends the statements together, and the server answers them together. Each runs only if those before it have
 * succeeded; after a failed statement all later ones fail too. `ended` is called after the last answer. Each
 * connection parses and describes a statement once.
 */
export function submitBatch(
  client: PoolClient,
  { statements, ended }: { readonly statements: readonly Statement[]; readonly ended: () => void },
): void {
  const { connection } = client;
  const known = stateOf.get(connection) ?? { prepared: new Map(), frames: createFrames(), names: 0 };
  stateOf.set(connection, known);
  const used: PreparedStatement[] = [];
  let [at, rows]: [number, SqlRow[]] = [0, []];

  const batch = {
    submit() {
      for (const statement of statements) used.push(addTo(known, statement));
      if (connection.stream.writable) connection.stream.write(known.frames.take());
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
      // The server may or may not have parsed these statements, so they get new names.
      for (const [sql, { fields }] of known.prepared) if (!fields) known.prepared.delete(sql);
      for (const { reject } of statements.slice(at)) reject(error);
      ended();
    },
    handleReadyForQuery: ended,
  };
  client.query(batch satisfies Submittable);
}

/** Adds a statement to the batch, and returns its prepared form. Names are never reused. */
function addTo(known: ConnectionState, { sql, values }: Statement): PreparedStatement {
  const { prepared, frames } = known;
  const found = prepared.get(sql);
  const used = found ?? (isOnce.test(sql) ? unnamed : { name: `s${known.names++}`, fields: undefined });
  if (used !== unnamed) prepared.set(sql, used);
  if (!found) frames.parse(used.name, toDollars(sql));
  frames.bind(used.name, values);
  if (!found && used !== unnamed) frames.describe();
  frames.execute();
  return used;
}

/** Converts `?` placeholders to PostgreSQL's. */
function toDollars(sql: string): string {
  let count = 0;
  return sql.replaceAll(/'[^']*'|\?/g, found => (found === '?' ? `$${++count}` : found));
}

function toRow(fields: readonly FieldDef[], texts: readonly (string | null)[]): SqlRow {
  const row: Record<string, SqlValue> = {};
  for (const [index, { name, dataTypeID }] of fields.entries()) {
    const text = texts[index] ?? null;
    row[name] = text !== null && numbers.has(dataTypeID) ? Number(text) : text;
  }
  return row;
}
