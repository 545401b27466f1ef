import { Connection } from 'pg';
import { createDice } from '../../../fakes/faulty-backend/dice.ts';
import { seed } from '../../../harness/sample.ts';

/** What other engines that speak PostgreSQL's protocol have not, or mean otherwise. */
const foreign =
  /\bpg_\w*advisory|\bfor (?:no key )?(?:update|share)\b|\b(?:int|int2|int4|smallint|\w*serial)\b|\bisolation level (?!read committed)/i;
const raise = "do $$ begin raise exception using errcode = '40001'; end $$";

/** The longest transactions have hundreds of statements, and are run ten times at most. */
const longestStreak = 4;

/** What was seen of the statements of gateways. */
export type Seen = { statements: number; failures: number; readonly foreign: Set<string> };

type Parse = (
  this: Connection,
  query: { readonly name: string; readonly text: string },
  more: boolean,
) => void;
type Bind = (
  this: Connection,
  query: { readonly statement: string; readonly values: readonly unknown[] },
  more: boolean,
) => void;

/**
 * Lets any statement of a gateway, its begin and its commit too, fail with 40001 at the server with this chance, and makes
 * each integer one of 64 bits, for the rest of this process; notes what is not to be sent to other engines.
 */
export function hinderStatements(chance: number): Seen {
  const seen: Seen = { statements: 0, failures: 0, foreign: new Set() };
  const roll = createDice([{ on: 'all', chance, fault: 'fail' }], seed);
  /** Failures since something was committed. */
  let streak = 0;
  /** Those whose transaction has failed. */
  const failed = new WeakSet<Connection>();
  const texts = new WeakMap<Connection, Map<string, string>>();
  const prototype = Connection.prototype as unknown as { parse: Parse; bind: Bind };
  const { parse, bind } = prototype;
  prototype.parse = function parseAndNote(query, more) {
    const named = texts.get(this) ?? new Map<string, string>();
    texts.set(this, named.set(query.name, query.text));
    if (foreign.test(query.text)) seen.foreign.add(query.text);
    // Elsewhere it is the same as bigint.
    parse.call(this, { ...query, text: query.text.replaceAll(/\binteger\b/g, 'int8') }, more);
  };
  prototype.bind = function bindOrFail(query, more) {
    seen.statements++;
    const text = texts.get(this)?.get(query.statement);
    const fails = roll('create', () => true).length > 0 && streak < longestStreak;
    // What has failed is undone in any case.
    if (!fails || text === 'rollback') {
      if (text === 'commit' && !failed.has(this)) streak = 0;
      if (text === 'rollback') failed.delete(this);
      return bind.call(this, query, more);
    }
    streak++;
    failed.add(this);
    seen.failures++;
    parse.call(this, { name: '', text: raise }, more);
    bind.call(this, { statement: '', values: [] }, more);
  };
  return seen;
}
