import { z } from 'zod';
import type { Fault } from './ajv.ts';

/** Makes the check where no code can be made of text, as Ajv does; throws for what is no JSON Schema, or one that zod cannot read. */
export function compileSchema(document: object): (value: unknown) => readonly Fault[] {
  const schema = z.fromJSONSchema(document as Parameters<typeof z.fromJSONSchema>[0]);
  return value =>
    (schema.safeParse(value).error?.issues ?? []).flatMap(issue => {
      const { path, message } = issue;
      if (issue.code !== 'unrecognized_keys') return { path, message };
      return issue.keys.map(key => ({ path: [...path, key], message }));
    });
}
