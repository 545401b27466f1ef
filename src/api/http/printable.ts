import { unprintable } from '../../lib/json.ts';

/** Maximum bytes that are shown of a text from another program. */
export const maxTextBytes = 4_096;

const [encoder, decoder] = [new TextEncoder(), new TextDecoder('utf-8', { ignoreBOM: true })];

const lineEnds = /[\r\n\t\u2028\u2029]+/g;

/** Replaces the control characters of a text, except line ends and tabs, by `?`, so that it cannot control a terminal. */
export function toTerminal(text: string): string {
  if (/^[ -~\n]*$/.test(text)) return text;
  return text.toWellFormed().replaceAll(unprintable, one => (/[\n\t]/.test(one) ? one : '?'));
}

/** Cleans a text like `toTerminal` and cuts it to `maxBytes`, in a time that does not depend on the length of the rest. */
export function toLines(text: string, maxBytes = maxTextBytes): string {
  // A character has at least one byte.
  const plain = toTerminal(text.slice(0, maxBytes + 1));
  const bytes = encoder.encode(plain);
  if (bytes.length <= maxBytes) return plain;
  return `${decoder.decode(bytes.subarray(0, maxBytes - 3)).replace(/\uFFFD+$/, '')}…`;
}

/** Cleans and cuts a text like `toLines` and joins it to one line, so that it cannot imitate a log line. */
export function toPrintable(text: string, maxBytes = maxTextBytes): string {
  return toLines(text.slice(0, maxBytes + 1).replaceAll(lineEnds, ' '), maxBytes);
}
