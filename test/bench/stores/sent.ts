import { readFileSync } from 'node:fs';

/** A statement as it was sent: its text with `$1` placeholders, and its values as text. */
export type SentStatement = { readonly text: string; readonly values: readonly (string | null)[] };

/** The statements that were sent in one piece, to be answered together. */
export type SentPiece = readonly SentStatement[];

/** The statements that a gateway sent to PostgreSQL to create one volume. */
export type SentCreate = { readonly volume: string; readonly pieces: readonly SentPiece[] };

/**
 * Collects the statements that a gateway sends to PostgreSQL, piece by piece; `take` returns those since the last call.
 */
export function createCollector() {
  const texts = new Map<string, string>();
  let pieces: SentPiece[] = [];
  return {
    collect(piece: Buffer): void {
      const statements: SentStatement[] = [];
      for (const { type, body } of messagesIn(piece)) {
        const [first = '', second = ''] = body.toString('utf8').split('\0', 2);
        if (type === 'P') texts.set(first, second);
        if (type === 'B')
          statements.push({
            text: texts.get(second) ?? '',
            values: valuesIn(body, first.length + second.length + 2),
          });
      }
      if (statements.length > 0) pieces.push(statements);
    },
    take(): readonly SentPiece[] {
      const taken = pieces;
      pieces = [];
      return taken;
    },
  };
}

/** Reads the file, and makes the statements that create another volume for each index, and a name for each text. */
export function readSent(file: string) {
  const { volume, pieces } = JSON.parse(readFileSync(file, 'utf8')) as SentCreate;
  const texts = [...new Set(pieces.flat().map(({ text }) => text))];
  /** The name and the id of the volume, and the id of the audit log's row, differ each time. */
  const isOwn = (value: string): boolean => value.endsWith(volume) || /^[0-9a-f]{12}-/.test(value);
  const sentFor = (index: number): readonly SentPiece[] => {
    const change = (value: string | null): string | null =>
      value !== null && isOwn(value) ? `${value}-${index}` : value;
    return pieces.map(piece => piece.map(({ text, values }) => ({ text, values: values.map(change) })));
  };
  return { sentFor, names: new Map(texts.map((text, index) => [text, `s${index}`])) };
}

type Message = { readonly type: string; readonly body: Buffer };

/** Splits a piece into typed messages; the first message of a connection has no type, and begins with a zero byte. */
function messagesIn(piece: Buffer): readonly Message[] {
  const messages: Message[] = [];
  for (let at = 0; at < piece.length && piece[at] !== 0;) {
    const end = at + 1 + piece.readInt32BE(at + 1);
    messages.push({ type: String.fromCharCode(piece[at] ?? 0), body: piece.subarray(at + 5, end) });
    at = end;
  }
  return messages;
}

/** Reads the values of a bind message whose names end at `start`. The message requests no formats, so all values are text. */
function valuesIn(body: Buffer, start: number): readonly (string | null)[] {
  const values: (string | null)[] = [];
  let at = start + 4;
  for (let left = body.readInt16BE(start + 2); left > 0; left--) {
    const length = body.readInt32BE(at);
    at += 4;
    values.push(length < 0 ? null : body.toString('utf8', at, at + length));
    at += Math.max(0, length);
  }
  return values;
}
