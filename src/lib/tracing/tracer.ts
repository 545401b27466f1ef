import type { Log } from '../log.ts';
import type { Tracer } from './trace.ts';

/** Opens the tracer for an endpoint; undefined without one. Rejects when its packages are not installed. */
export async function openTracer(
  program: string,
  endpoint: string | undefined,
  log: Log,
): Promise<Tracer | undefined> {
  if (endpoint === undefined) return undefined;
  const { createTracer } = await import('./otlp.ts').catch((error: unknown) => {
    const packages = '@opentelemetry/{api,resources,sdk-trace,exporter-trace-otlp-http}';
    throw new Error(`--otlp-endpoint needs the npm packages ${packages}; install them`, {
      cause: error,
    });
  });
  return createTracer(program, endpoint, log);
}
