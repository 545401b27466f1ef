import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { unavailableProblem } from '../../../src/api/problem.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** What a storage takes as parameters, by its JSON Schema; without one anything. UNAVAILABLE for what is no JSON Schema. */
export function toParameters(schema: JsonSchema | undefined, what: string) {
  const texts = z.record(z.string(), z.string());
  if (!schema) return texts;
  // Their dialect and name say nothing here, and two pools may have the same.
  const { $schema: _dialect, $id: _id, id: _name, ...document } = schema;
  const validate = compile(document, what);
  return texts
    .superRefine((value, context) => {
      if (validate(value)) return;
      for (const error of validate.errors ?? [])
        context.addIssue({ code: 'custom', path: pathOf(error), message: error.message ?? 'is refused' });
    })
    .meta(document);
}

function compile(document: JsonSchema, what: string): ValidateFunction {
  try {
    return new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(document);
  } catch (error) {
    throw unavailableProblem(`its capabilities have no JSON Schema as parameters.${what}`, error);
  }
}

function pathOf({ instancePath, params }: ErrorObject): string[] {
  const { additionalProperty, missingProperty } = params as Readonly<Record<string, string | undefined>>;
  const member = additionalProperty ?? missingProperty;
  return [...instancePath.split('/').slice(1), ...(member === undefined ? [] : [member])];
}
