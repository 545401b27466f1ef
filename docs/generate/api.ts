import { openApiDocument, vendorDocument } from '../../src/api/http/openapi.ts';
import { allOperations, type NamedOperation } from '../../src/api/operations.ts';

/** The part of a JSON Schema that the page shows. */
type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly description?: string;
};

/** Writes docs/reference/api.md: every operation, and the members of every resource. */
export function apiPage(): string {
  const { schemas } = openApiDocument('').components as { schemas: Readonly<Record<string, Schema>> };
  const forClusters = allOperations.filter(({ tag }) => tag !== 'admin');
  const forOperators = allOperations.filter(({ tag }) => tag === 'admin');
  const resources = Object.entries(schemas).map(
    ([name, schema]) => `### ${name}\n${schema.description ?? ''}\n\n${toTable(schema)}`,
  );
  return `# The Storage API v1

Generated from \`src/api/operations.ts\` and its schemas. A gateway serves the same as OpenAPI 3.1 at \`/openapi.json\`.
[vendor-api.md](vendor-api.md) is the contract of storage vendors, and [errors.md](errors.md) lists the codes of errors.

* Every request needs a [token](../gateway.md#callers-and-their-rights). The token decides the cluster.
* Every changing request is PUT or DELETE and may be repeated: its URL is the idempotency key.
* \`Prefer: wait=N\` limits the seconds to the answer (at most 60, default 30). Unfinished work answers 202 and continues, and the same
  request joins it.
* \`X-Timeout-Ms: N\` gives the milliseconds after which the caller gives up. Work that has not begun by then does not begin.
* An error is a [Problem](#problem).

## Operations for clusters
${toOperations(forClusters)}

## Operations for operators
${toOperations(forOperators)}

## Resources
A member with \`?\` may be absent. \`a[].b\` is the member \`b\` of each entry of the list \`a\`. If a resource has variants, its common
members come first. Then a row with a fixed value begins each variant.

${resources.join('\n\n')}
`;
}

function toOperations(operations: readonly NamedOperation[]): string {
  const rows = operations.map(({ id, method, path, query, body, answers, doc }) => {
    const parameters = Object.keys(query?.shape ?? {}).map(name => `\`${name}\``);
    const result = Object.values(answers).find(schema => schema !== null);
    const input = [...parameters, ...(body ? [toLink(body.meta()?.id)] : [])].join(', ');
    return `| \`${id}\` | \`${method} ${path}\` | ${input} | ${result ? toLink(result.meta()?.id) : ''} | ${doc} |`;
  });
  return `| operation | route | query, body | answer | does |\n|---|---|---|---|---|\n${rows.join('\n')}`;
}

/** Writes a link to the table of a resource on the same page. */
export function toLink(name = ''): string {
  return `[${name}](#${name.toLowerCase()})`;
}

/** Writes the members of each schema of the vendor's part of the API, with links within the page. */
export function vendorBodies(): string {
  const { schemas } = vendorDocument('').components as { schemas: Readonly<Record<string, Schema>> };
  return Object.entries(schemas)
    .map(([name, schema]) => `### ${name}\n${schema.description ?? ''}\n\n${toTable(schema)}`)
    .join('\n\n');
}

function toTable(schema: Schema): string {
  const rows = toRows(schema, '');
  if (rows.length === 0) return `It is a ${toType(schema)}.`;
  return `| member | type | meaning |\n|---|---|---|\n${rows.join('\n')}`;
}

/** Lists the members of a schema; of a union the common members first, then the members of each variant. */
function toRows(schema: Schema, prefix: string): readonly string[] {
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants) {
    const tables = variants.map(variant => toRows(variant, prefix));
    const common = (tables[0] ?? []).filter(row => tables.every(rows => rows.includes(row)));
    return [...common, ...tables.flatMap(rows => rows.filter(row => !common.includes(row)))];
  }
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = `${prefix}${name}${required.includes(name) ? '' : '?'}`;
    const below = member.items?.properties ? toRows(member.items, `${path}[].`) : toRows(member, `${path}.`);
    return [`| \`${path}\` | ${toType(member)} | ${escape(member.description ?? '')} |`].concat(below);
  });
}

function toType(schema: Schema): string {
  const { $ref, items, additionalProperties, type = 'object' } = schema;
  if ($ref !== undefined) return toLink($ref.slice($ref.lastIndexOf('/') + 1));
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.enum) return schema.enum.map(value => `\`${value}\``).join(', ');
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants) return [...new Set(variants.map(toType))].join(' or ');
  if (items) return `list of ${toType(items)}`;
  if (typeof additionalProperties === 'object') return `map of ${toType(additionalProperties)}`;
  return type;
}

function escape(text: string): string {
  return text.replaceAll('|', '\\|');
}
