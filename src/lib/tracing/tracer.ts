import type { Log } from '../log.ts';
import type { Tracer } from './trace.ts';

/**
 * Loads what sends spans to the endpoint; nothing where there is none. Rejects where the packages that it takes are not
 * installed.
 */
export async function openTracer(
  program: string,
  endpoint: string | undefined,
  log: Log,
): Promise<Tracer | undefined> {
  if (endpoint === undefined) return undefined;
  const { createTracer } = await import('./otlp.ts').catch((error: unknown) => {
    const packages = '@opentelemetry/{api,resources,sdk-trace,exporter-trace-otlp-http}';
    throw new Error(`--otlp-endpoint takes the npm packages ${packages}, which are not here`, {
      cause: error,
    });
  });
  return createTracer(program, endpoint, log);
}
