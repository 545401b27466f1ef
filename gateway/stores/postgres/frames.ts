import type { SqlValue } from '../../store.ts';

/** Bytes of what is sent together at most times. */
const usualBytes = 8_192;

/** Most bytes of a UTF-16 unit in UTF-8. */
const mostBytes = 3;

/** Messages to a PostgreSQL server, put together so that they are sent in one piece. */
export type Frames = ReturnType<typeof createFrames>;

/** Makes what puts messages together. Its memory is used again by the next that are put together after `take`. */
export function createFrames() {
  let buffer = Buffer.allocUnsafe(usualBytes);
  let [end, start] = [0, 0];

  function reserve(bytes: number): void {
    if (end + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, end + bytes));
    buffer.copy(larger, 0, 0, end);
    buffer = larger;
  }

  function addText(text: string): void {
    reserve(text.length * mostBytes + 1);
    end += buffer.write(text, end);
    buffer[end++] = 0;
  }

  function addValue(value: SqlValue): void {
    if (value === null) return addNumber(-1);
    const text = String(value);
    reserve(text.length * mostBytes + 4);
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

  /** Its length is known once it is all there. */
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
    /** Of the statement of this name, with these values as text; its rows come as text. */
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
    /** What the rows are made of. */
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
    /** All of it, and after it what asks for the answer. */
    take(): Uint8Array {
      begin('S');
      finish();
      const taken = buffer.subarray(0, end);
      end = 0;
      return taken;
    },
  };
}
