import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { listen } from '../../harness/listen.ts';

/** A received span, with the program that sent it. */
export type Span = {
  readonly service: string;
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: unknown }[];
};

type SentSpans = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { key: string; value: { stringValue?: string } }[] };
    readonly scopeSpans: readonly { readonly spans: readonly Omit<Span, 'service'>[] }[];
  }[];
};

/** A receiver of OTLP over HTTP as JSON, like an OpenTelemetry collector. */
type Collector = {
  readonly url: string;
  readonly spans: readonly Span[];
  readonly bodies: readonly string[];
};

/** Starts a collector that ends with its test and answers with `status`. */
export async function startCollector(t: TestContext, status = 200): Promise<Collector> {
  const spans: Span[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const isGood = request.url === '/v1/traces' && request.headers['content-type'] === 'application/json';
    if (isGood) bodies.push(body);
    if (isGood && status === 200) spans.push(...readSpans(JSON.parse(body) as SentSpans));
    response.writeHead(isGood ? status : 400, { 'content-type': 'application/json' }).end('{}');
  });
  return { url: `http://${await listen(t, server)}`, spans, bodies };
}

function readSpans({ resourceSpans }: SentSpans): readonly Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const name = resource.attributes.find(({ key }) => key === 'service.name');
    const service = name?.value.stringValue ?? '';
    return scopeSpans.flatMap(({ spans }) => spans.map(span => Object.assign(span, { service })));
  });
}
