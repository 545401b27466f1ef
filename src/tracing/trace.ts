/** The form of the W3C's `traceparent`, version 00: a trace, the sending span, and whether the trace is recorded. */
const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Returns a valid `traceparent`; undefined for any other value, so that a new trace begins here. */
export function readTraceparent(value: string | undefined): string | undefined {
  return value !== undefined && form.test(value) ? value : undefined;
}

/** Makes a new trace, marked as recorded for the systems that get it. */
export function newTraceparent(): string {
  const trace = crypto.randomUUID().replaceAll('-', '');
  // The span's id belongs to no recorded span, so any id but zero will do. The second half of a UUID is never zero.
  return `00-${trace}-${trace.slice(16)}-01`;
}

export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

export function spanIdOf(traceparent: string): string {
  return traceparent.slice(36, 52);
}

/** An observed piece of work. Its own calls belong to `traceparent`; `end` gets the final code. */
export type Observation = { readonly traceparent: string | undefined; end(code: string): void };

/** Begins to observe work of this name, within the caller's trace if there is one. */
export type Observer = (name: string, traceparent?: string) => Observation;

export interface Tracer {
  start(kind: SpanKind, name: string, traceparent: string | undefined): Observation;
  /** Sends the remaining spans, and ends. */
  close(): Promise<void>;
}

/** The side of the work: it answers a call, makes one, or neither. */
export type SpanKind = 'server' | 'client' | 'internal';

type ObserveOptions = {
  /** Begins to count a call by its name; call the result at its end. */
  readonly count: (name: string) => (code: string) => void;
  readonly kind: SpanKind;
  readonly tracer: Tracer | undefined;
  /** The prefix of a span's name. */
  readonly prefix?: string;
};

/**
 * Creates an observer that counts calls, and records spans if there is a tracer. Work without a trace begins a new
 * one.
 */
export function createObserve({ count, kind, tracer, prefix = '' }: ObserveOptions): Observer {
  return (name, traceparent) => {
    const ended = count(name);
    const span = tracer?.start(kind, prefix + name, traceparent);
    return {
      traceparent: span?.traceparent ?? traceparent ?? newTraceparent(),
      end(code) {
        ended(code);
        span?.end(code);
      },
    };
  };
}
