import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace, type Span } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace';
import { withinTime } from '../lib/concurrency.ts';
import type { Log } from '../lib/log.ts';
import { spanIdOf, traceIdOf, type Tracer } from './trace.ts';
import { version } from '../lib/version.ts';

// These packages take 26 MB, so they are loaded only when an endpoint is set.

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };
const closeTimeoutMs = 2_000;
const successCodes = new Set(['OK', 'ACCEPTED']);

/**
 * Sends spans in batches to an OpenTelemetry collector, by OTLP over HTTP; `endpoint` is without /v1/traces. A span
 * has a name, a code and times, nothing else. Spans that cannot be sent are lost, and the first failure is logged.
 */
export function createTracer(program: string, endpoint: string, log: Log): Tracer {
  const exporter = openExporter(endpoint);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': `fairlead-${program}`, 'service.version': version }),
    spanProcessors: [new BatchSpanProcessor({ exporter: reporting(exporter, log) })],
  });
  const tracer = provider.getTracer('fairlead');
  return {
    start(kind, name, traceparent) {
      const span = tracer.startSpan(name, { kind: kinds[kind] }, contextOf(traceparent));
      return {
        traceparent: traceparentOf(span),
        end(code) {
          span.setAttribute('fairlead.code', code);
          if (!successCodes.has(code)) span.setStatus({ code: SpanStatusCode.ERROR, message: code });
          span.end();
        },
      };
    },
    // A collector that does not answer must not delay the end; failures are logged already.
    close: async () => void (await withinTime(provider.shutdown().catch(ignore), closeTimeoutMs)),
  };
}

/** Opens the way to a collector. The packages choose the time limit unless `timeoutMillis` is given. */
export function openExporter(endpoint: string, timeoutMillis?: number): SpanExporter {
  return new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    ...(timeoutMillis !== undefined && { timeoutMillis }),
  });
}

function ignore(): void {}

function contextOf(traceparent: string | undefined) {
  if (traceparent === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(traceparent.slice(-2), 16) & TraceFlags.SAMPLED;
  const [traceId, spanId] = [traceIdOf(traceparent), spanIdOf(traceparent)];
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-0${traceFlags}`;
}

function reporting(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, result => {
        if (result.error && !isFailing) log.warn('cannot send spans', { detail: result.error.message });
        isFailing = result.error !== undefined;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}
