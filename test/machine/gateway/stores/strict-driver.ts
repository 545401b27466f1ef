import { Connection } from 'pg';
import { createDice } from '../../../fakes/faulty-backend/dice.ts';
import { seed } from '../../../harness/sample.ts';

/** The syntax that other engines with PostgreSQL's protocol lack or interpret differently. */
const foreign =
  /\bpg_\w*advisory|\bfor (?:no key )?(?:update|share)\b|\b(?:int|int2|int4|smallint|\w*serial)\b|\bisolation level (?!read committed)/i;
const raise = "do $$ begin raise exception using errcode = '40001'; end $$";

/** The limit of failures in a row: the longest transactions have hundreds of statements, and run ten times at most. */
const maxStreak = 4;

type StatementCounts = { statements: number; failures: number; readonly foreign: Set<string> };

/**
 * Makes any statement of this process fail at the server with 40001 with this chance, including begin and commit, and
 * turns each integer into one of 64 bits; records syntax that other engines would refuse.
 */
export function hinderStatements(chance: number): StatementCounts {
  const seen: StatementCounts = { statements: 0, failures: 0, foreign: new Set() };
  const roll = createDice([{ on: 'all', chance, fault: 'fail' }], seed);
  /** The number of failures since the last commit. */
  let streak = 0;
  /** The connections whose transaction has failed. */
  const failed = new WeakSet<Connection>();
  const texts = new WeakMap<Connection, Map<string, string>>();
  // The types of pg do not show `connect`.
  const prototype = Connection.prototype as unknown as {
    connect: (this: Connection, ...to: never[]) => void;
  };
  const { connect } = prototype;

  /** Replaces a message: returns its type, its length, and its content. */
  function hinder(connection: Connection, message: Buffer): readonly Uint8Array[] {
    const named = texts.getOrInsertComputed(connection, () => new Map());
    const type = String.fromCharCode(message[0] ?? 0);
    const strings = message.toString('latin1', 5).split('\0');
    if (type === 'P') {
      const [name = '', text = ''] = [strings[0], message.toString('utf8', 5).split('\0')[1]];
      named.set(name, text);
      if (foreign.test(text)) seen.foreign.add(text);
      // In other places it is the same as bigint.
      return [toParse(name, text.replaceAll(/\binteger\b/g, 'int8'))];
    }
    if (type !== 'B') return [message];
    seen.statements++;
    const text = named.get(strings[1] ?? '');
    const fails = roll('create', () => true).length > 0 && streak < maxStreak;
    // A failed transaction is rolled back in any case.
    if (!fails || text === 'rollback') {
      if (text === 'commit' && !failed.has(connection)) streak = 0;
      if (text === 'rollback') failed.delete(connection);
      return [message];
    }
    streak++;
    failed.add(connection);
    seen.failures++;
    return [toParse('', raise), toMessage('B', Buffer.alloc(8))];
  }

  prototype.connect = function connectHindered(...to) {
    connect.apply(this, to);
    const { stream } = this;
    const write = stream.write.bind(stream);
    let isStarted = false;
    stream.write = (sent: unknown) => {
      // The first message has no type.
      const messages = isStarted ? splitMessages(sent as Buffer) : undefined;
      isStarted = true;
      const hindered = messages?.flatMap(message => hinder(this, message));
      return write(hindered ? Buffer.concat(hindered) : (sent as Buffer));
    };
  };
  return seen;
}

function splitMessages(sent: Buffer): readonly Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < sent.length;) {
    const end = at + 1 + sent.readInt32BE(at + 1);
    messages.push(sent.subarray(at, end));
    at = end;
  }
  return messages;
}

function toMessage(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}0000`);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function toParse(name: string, text: string): Buffer {
  return toMessage('P', Buffer.from(`${name}\0${text}\0\0\0`));
}
