/** Of the W3C's `traceparent`, version 00: a trace, the span that sends it, and whether the trace is recorded. */
const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The value of a `traceparent`, or undefined for what is none: a trace then begins here. */
export function readTraceparent(value: string | undefined): string | undefined {
  return value !== undefined && form.test(value) ? value : undefined;
}

/** A trace that begins here; whoever passes it on and records, does so. */
export function newTraceparent(): string {
  const trace = crypto.randomUUID().replaceAll('-', '');
  // What is sent is part of a span that nobody recorded: any id will do that is not zero, and a UUID's second half never is.
  return `00-${trace}-${trace.slice(16)}-01`;
}

/** The trace's id, by which it is found wherever it is recorded. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

/** The id of the span in it. */
export function spanIdOf(traceparent: string): string {
  return traceparent.slice(36, 52);
}

/** A piece of work that is observed: its own calls are part of `traceparent`, and its end is told with a code. */
export type Observed = { readonly traceparent: string | undefined; end(code: string): void };

/** Begins to observe work of this name, as part of the caller's trace where there is one. */
export type Observe = (name: string, traceparent?: string) => Observed;

/** Records pieces of work as spans. */
export interface Tracer {
  start(kind: SpanKind, name: string, traceparent: string | undefined): Observed;
  /** Sends what was not sent yet, and ends. */
  close(): Promise<void>;
}

/** Whether work was asked for over a connection, asks over one, or neither. */
export type SpanKind = 'server' | 'client' | 'internal';

type ObserveOptions = {
  /** Begins to count a call by its name; what is returned ends it. */
  readonly count: (name: string) => (code: string) => void;
  readonly kind: SpanKind;
  readonly tracer: Tracer | undefined;
  /** What the name of a span begins with. */
  readonly prefix?: string;
};

/** Observes by counting, and as spans where there is a tracer. What is part of no trace begins one. */
export function createObserve({ count, kind, tracer, prefix = '' }: ObserveOptions): Observe {
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
