import type { SqlValue } from '../../store.ts';

/** The initial size of the buffer in bytes, enough for most batches. */
const initialBytes = 8_192;

/** The maximum UTF-8 bytes of a UTF-16 unit. */
const maxBytesPerUnit = 3;

/** Messages for a PostgreSQL server, collected so that they are sent in one piece. */
export type Frames = ReturnType<typeof createFrames>;

/** Creates an empty buffer for messages. `take` empties it, and its memory is used again for the next messages. */
export function createFrames() {
  let buffer = Buffer.allocUnsafe(initialBytes);
  let [end, start] = [0, 0];

  function reserve(bytes: number): void {
    if (end + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, end + bytes));
    buffer.copy(larger, 0, 0, end);
    buffer = larger;
  }

  function addText(text: string): void {
    reserve(text.length * maxBytesPerUnit + 1);
    end += buffer.write(text, end);
    buffer[end++] = 0;
  }

  function addValue(value: SqlValue): void {
    if (value === null) return addNumber(-1);
    const text = String(value);
    reserve(text.length * maxBytesPerUnit + 4);
    const bytes = buffer.write(text, end + 4);
    end = buffer.writeInt32BE(bytes, end) + bytes;
  }

  function addNumber(number: number): void {
    reserve(4);
    end = buffer.writeInt32BE(number, end);
  }

  function addShort(number: number): void {
    reserve(2);
    end = buffer.writeInt16BE(number, end);
  }

  /** Begins a message; `finish` writes its length. */
  function begin(type: string): void {
    reserve(5);
    start = end;
    buffer[end] = type.charCodeAt(0);
    end += 5;
  }

  function finish(): void {
    buffer.writeInt32BE(end - start - 1, start + 1);
  }

  return {
    parse(name: string, sql: string): void {
      begin('P');
      addText(name);
      addText(sql);
      addShort(0);
      finish();
    },
    /** Binds values, as text, to the statement of this name. Its rows come as text too. */
    bind(name: string, values: readonly SqlValue[]): void {
      begin('B');
      addText('');
      addText(name);
      addShort(0);
      addShort(values.length);
      for (const value of values) addValue(value);
      addShort(0);
      finish();
    },
    describe(): void {
      begin('D');
      addText('P');
      finish();
    },
    execute(): void {
      begin('E');
      addText('');
      addNumber(0);
      finish();
    },
    /** Returns all messages with a Sync, which makes the server answer. Valid until the next message is added. */
    take(): Uint8Array {
      begin('S');
      finish();
      const taken = buffer.subarray(0, end);
      end = 0;
      return taken;
    },
  };
}
