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
  const prototype = Connection.prototype as unknown as {
    connect: (this: Connection, ...to: never[]) => void;
  };
  const { connect } = prototype;

  /** What is sent in place of a message: its type, its length, and what follows. */
  function hinder(connection: Connection, message: Buffer): readonly Uint8Array[] {
    const named = texts.getOrInsertComputed(connection, () => new Map());
    const type = String.fromCharCode(message[0] ?? 0);
    const strings = message.toString('latin1', 5).split('\0');
    if (type === 'P') {
      const [name = '', text = ''] = [strings[0], message.toString('utf8', 5).split('\0')[1]];
      named.set(name, text);
      if (foreign.test(text)) seen.foreign.add(text);
      // Elsewhere it is the same as bigint.
      return [toParse(name, text.replaceAll(/\binteger\b/g, 'int8'))];
    }
    if (type !== 'B') return [message];
    seen.statements++;
    const text = named.get(strings[1] ?? '');
    const fails = roll('create', () => true).length > 0 && streak < longestStreak;
    // What has failed is undone in any case.
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
