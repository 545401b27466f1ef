import { compileSchema } from '#json-schema';
import { z } from 'zod';
import { unavailableProblem } from '../../../src/api/problem.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** What a storage takes as parameters, by its JSON Schema; without one anything. UNAVAILABLE for what is no JSON Schema. */
export function toParameters(schema: JsonSchema | undefined, what: string) {
  const texts = z.record(z.string(), z.string());
  if (!schema) return texts;
  // Their dialect and name say nothing here, and two pools may have the same.
  const { $schema: _dialect, $id: _id, id: _name, ...document } = schema;
  const findFaults = compile(document, what);
  return texts
    .superRefine((value, context) => {
      for (const { path, message } of findFaults(value))
        context.addIssue({ code: 'custom', path: [...path], message });
    })
    .meta(document);
}

function compile(document: JsonSchema, what: string): ReturnType<typeof compileSchema> {
  try {
    return compileSchema(document);
  } catch (error) {
    throw unavailableProblem(`its capabilities have no JSON Schema as parameters.${what}`, error);
  }
}
