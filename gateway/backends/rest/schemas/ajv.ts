import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';

/** Something that is wrong with a value, and where in it. */
export type Fault = { readonly path: readonly PropertyKey[]; readonly message: string };

/** Makes the check of values by a JSON Schema; throws for what is none. */
export function compileSchema(document: object): (value: unknown) => readonly Fault[] {
  const validate = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(document);
  return value => (validate(value) ? [] : (validate.errors ?? []).map(toFault));
}

function toFault({ instancePath, params, message = 'is refused' }: ErrorObject): Fault {
  const { additionalProperty, missingProperty } = params as Readonly<Record<string, string | undefined>>;
  const member = additionalProperty ?? missingProperty;
  return { path: [...instancePath.split('/').slice(1), ...(member === undefined ? [] : [member])], message };
}
