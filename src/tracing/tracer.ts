import type { Log } from '../lib/log.ts';
import { reasonOf } from '../lib/words/failures.ts';
import type { Tracer } from './trace.ts';

/** The collector must answer a check within this time, in milliseconds. */
const answerMs = 3_000;

/** Opens the tracer for an endpoint; undefined without one. Rejects when its packages are not installed. */
export async function openTracer(
  program: string,
  endpoint: string | undefined,
  log: Log,
): Promise<Tracer | undefined> {
  if (endpoint === undefined) return undefined;
  const { createTracer } = await loadOtlp();
  return createTracer(program, endpoint, log);
}

/** Sends an empty list of spans to the collector. Rejects, in words, unless the collector accepts it. */
export async function sendNoSpans(endpoint: string): Promise<void> {
  const { openExporter } = await loadOtlp();
  const exporter = openExporter(endpoint, answerMs);
  const error = await new Promise<Error | undefined>(resolve =>
    exporter.export([], result => resolve(result.error)),
  );
  await exporter.shutdown();
  if (error) throw new Error(`"${endpoint}" takes no traces: ${reasonOf(error)}`, { cause: error });
}

function loadOtlp() {
  return import('./otlp.ts').catch((error: unknown) => {
    const packages = '@opentelemetry/{api,resources,sdk-trace,exporter-trace-otlp-http}';
    throw new Error(`--otlp-endpoint needs the npm packages ${packages}; install them`, {
      cause: error,
    });
  });
}
