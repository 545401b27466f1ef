import * as z from 'zod';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { readParameterSchema, type ParameterSchema } from '../../../src/api/schemas/parameters.ts';
import type { Capabilities } from '../../../src/api/storage.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Makes a schema that checks parameters by the storage's JSON Schema, as far as this gateway understands it; without
 * a JSON Schema all pass. UNAVAILABLE for a schema that is invalid or too large.
 */
export function toParameters(schema: JsonSchema | undefined, what: string) {
  const texts = z.record(z.string(), z.string());
  if (!schema) return texts;
  const { document, findFaults } = read(schema, what);
  return texts
    .superRefine((value, context) => {
      for (const { path, message } of findFaults(value))
        context.addIssue({ code: 'custom', path: [...path], message });
    })
    .meta(document);
}

/** Lists the keywords of the storage's schemas that only the storage checks, such as `volume: pattern`. */
export function ignoredKeywords({ parameters = {} }: Pick<Capabilities, 'parameters'>): readonly string[] {
  return Object.entries(parameters).flatMap(([what, schema]) =>
    schema ? read(schema, what).ignored.map(keyword => `${what}: ${keyword}`) : [],
  );
}

function read(schema: JsonSchema, what: string): ParameterSchema {
  try {
    return readParameterSchema(schema);
  } catch (error) {
    const reason = (error as Error).message;
    throw unavailableProblem(
      `the JSON Schema parameters.${what} in its capabilities is not usable: ${reason}`,
    );
  }
}
