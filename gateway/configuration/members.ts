import type { z } from 'zod';

/** The parts of a schema's definition that lead to the schemas within. */
type Definition = {
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly options?: readonly z.ZodType[];
};

/** Lists the members that objects at the path may have, for advice about a mistyped one. */
export function membersAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const { shape, innerType, in: input, valueType, element, options } = schema.def as Definition;
  const [key, ...rest] = path;
  if (options) return options.flatMap(one => membersAt(one, path));
  const around = innerType ?? input;
  if (around) return membersAt(around, path);
  if (key === undefined) return Object.keys(shape ?? {});
  const next = shape?.[String(key)] ?? valueType ?? element;
  return next ? membersAt(next, rest) : [];
}
