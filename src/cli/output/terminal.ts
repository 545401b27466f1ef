import { toTerminal } from '../../api/http/printable.ts';

/** A stream that only this program can steer. */
type Terminal = {
  /** Writes text from any source. Control characters are shown as text, except in sequences that `own` has marked. */
  readonly write: (text: string) => void;
  /** Marks control sequences of this program, such as colours, so that `write` lets them pass. */
  readonly own: (text: string) => string;
};

/**
 * Creates the stream through which a command writes all its output. The mark of `own` is random, so that text from elsewhere
 * cannot forge it.
 */
export function createTerminal(write: (text: string) => void): Terminal {
  let mark: string | undefined;
  return {
    write(text) {
      const plain = toTerminal(text);
      write(mark === undefined ? plain : plain.replaceAll(mark, '\u001B'));
    },
    own: text => text.replaceAll('\u001B', (mark ??= crypto.randomUUID())),
  };
}

/** The unprotected standard streams. Wrap them in `createTerminal` before writing text from elsewhere. */
export const streams = {
  out(text: string): void {
    // Node makes the stream at its first use, and a program that only logs needs none.
    const { stdout: stream } = process;
    if (stream.listenerCount('error') === 0) stream.on('error', endOfOutput);
    stream.write(text);
  },
  err: (text: string): void => void process.stderr.write(text),
};

export const stdout = createTerminal(streams.out);
export const stderr = createTerminal(streams.err);

/** Ends the process; with status 0 when the reader, such as `head`, has closed the pipe early. */
function endOfOutput({ code }: NodeJS.ErrnoException): void {
  process.exit(code === 'EPIPE' ? 0 : 1);
}
