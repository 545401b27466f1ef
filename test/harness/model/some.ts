import { constant, record, type Arbitrary } from 'fast-check';

/** Makes values of this kind with this weight. */
export function some<const K extends string, T extends object>(
  weight: number,
  kind: K,
  fields: { [P in keyof T]: Arbitrary<T[P]> },
) {
  const arbitrary = record({ kind: constant(kind), ...fields });
  // The type of `record` does not join the kind with a generic's members.
  return { weight, arbitrary: arbitrary as unknown as Arbitrary<T & { readonly kind: K }> };
}
