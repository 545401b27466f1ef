/** Of the W3C's `traceparent`, version 00: a trace, the span that sends it, and whether the trace is recorded. */
const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The value of a `traceparent`, or undefined for what is none: a trace then begins here. */
export function readTraceparent(value: string | undefined): string | undefined {
  return value !== undefined && form.test(value) ? value : undefined;
}
