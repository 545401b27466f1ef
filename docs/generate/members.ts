/** The part of a JSON Schema that the documents show. */
export type Schema = {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
};

type Member = { readonly path: string; readonly state: string; readonly doc: string };

/** Lists every member of a schema, and the members below each. */
export function toMembers({ properties = {}, required = [] }: Schema): readonly Member[] {
  return Object.entries(properties).flatMap(([name, member]) => {
    const fallback = member.default === undefined ? 'optional' : `\`${JSON.stringify(member.default)}\``;
    const state = required.includes(name) ? 'required' : fallback;
    const below = toMembers(member).map(one => ({
      path: `${name}.${one.path}`,
      state: one.state,
      doc: one.doc,
    }));
    return [{ path: name, state, doc: member.description ?? '' }].concat(below);
  });
}
