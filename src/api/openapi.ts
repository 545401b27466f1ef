import { z } from 'zod';
import { clusterPattern, idPattern, maxIdBytes, vendorIdPattern } from './ids.ts';
import { nodeId } from './node.ts';
import { allOperations, problemsOf, vendorOperations, type NamedOperation } from './operations.ts';
import { problemTable, toDocument, tooManyRequests, Problem, type ProblemCode } from './problem.ts';

/** A part of an OpenAPI document. */
export type OpenApiNode = { readonly [key: string]: unknown };

const idSchema = { type: 'string', maxLength: maxIdBytes, pattern: idPattern, examples: ['east.pvc-1'] };
const clusterSchema = { type: 'string', maxLength: 32, pattern: clusterPattern.source, examples: ['west'] };
/** The gateway names what it makes at a vendor; a vendor takes any id that stands in a path as it is. */
const vendorIdSchema = { ...idSchema, pattern: vendorIdPattern.source };
const { $schema: _, ...nodeIdSchema } = z.toJSONSchema(nodeId);

const prefer: OpenApiNode = {
  name: 'Prefer',
  in: 'header',
  description:
    'How many seconds the answer may take, at most 60, 30 when absent (RFC 7240). Work that is not done by then ' +
    'answers 202 and goes on; the same request joins it.',
  schema: { type: 'string', examples: ['wait=10'] },
};

const timeout: OpenApiNode = {
  name: 'X-Timeout-Ms',
  in: 'header',
  description:
    'After how many milliseconds the caller gives up. What has not begun by then does not begin; what has begun goes on.',
  schema: { type: 'string', examples: ['60000'] },
};

const info: OpenApiNode = {
  summary: 'Volumes, snapshots and attachments for clusters, from one hosted API.',
  description:
    'The URL is the idempotency key: every mutating operation is PUT or DELETE and may be repeated. An error is a ' +
    'problem document whose `code` decides; the HTTP status is a hint.',
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
};

const frame: OpenApiNode = { openapi: '3.1.1', servers: [{ url: '/' }], security: [{ token: [] }] };

const securitySchemes: OpenApiNode = {
  token: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A JWT that a key of an enrolled caller has signed. Who calls comes from it alone.',
  },
};

const problems = toResponses();

/** The Storage API v1 as an OpenAPI 3.1 document, for servers of this version. */
export function openApiDocument(version: string): OpenApiNode {
  const paths = toPaths(allOperations, idSchema);
  return {
    ...frame,
    info: { ...info, title: 'Fairlead Storage API', version },
    tags: toTags(allOperations),
    paths,
    components: { schemas: toSchemas(), securitySchemes, responses: problems },
  };
}

/** The part of it that a vendor serves, for any vendor's server: operations and the schemas that they use. */
export function vendorDocument(version: string): OpenApiNode {
  const paths = toPaths(vendorOperations, vendorIdSchema);
  const all = toSchemas();
  const used = new Set<string>();
  const use = (node: unknown): void => {
    for (const [, name = ''] of JSON.stringify(node).matchAll(/#\/components\/schemas\/(\w+)/g))
      if (!used.has(name)) {
        used.add(name);
        use(all[name]);
      }
  };
  use([paths, problems]);
  const schemas = Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
  return {
    ...frame,
    info: {
      ...info,
      title: 'Fairlead Vendor API',
      version,
      summary: 'What a storage system serves to be a pool of a Fairlead gateway.',
    },
    tags: toTags(vendorOperations),
    paths,
    components: { schemas, securitySchemes, responses: problems },
  };
}

function toTags(rows: readonly NamedOperation[]): readonly OpenApiNode[] {
  return [...new Set(rows.map(({ tag }) => tag))].map(name => ({ name }));
}

function toPaths(rows: readonly NamedOperation[], id: OpenApiNode): OpenApiNode {
  const paths = Map.groupBy(rows, ({ path }) => path);
  return Object.fromEntries([...paths].map(([path, all]) => [path, toPathItem(path, all, id)]));
}

/** One response for each status, with all the codes that it may have. */
function toResponses(): OpenApiNode {
  const codes = Object.keys(problemTable) as ProblemCode[];
  const codesByStatus = Map.groupBy(codes, code => problemTable[code].http);
  return Object.fromEntries([...codesByStatus].map(([status, all]) => [`Problem${status}`, toResponse(all)]));
}

function toPathItem(path: string, all: readonly NamedOperation[], id: OpenApiNode): OpenApiNode {
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: name === 'nodeId' ? nodeIdSchema : name === 'grantee' ? clusterSchema : id,
  }));
  return {
    ...(parameters.length > 0 && { parameters }),
    ...Object.fromEntries(all.map(operation => [operation.method.toLowerCase(), toOperation(operation)])),
  };
}

function toOperation(operation: NamedOperation): OpenApiNode {
  const { id, tag, doc, query, body, answers, vendor } = operation;
  const { properties = {} } = z.toJSONSchema(query ?? z.object(), { io: 'input' });
  const asked = Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
  const parameters = answers[202] ? [...asked, prefer, timeout] : asked;
  const refused = problemsOf(operation).map(code => problemTable[code].http);
  return {
    operationId: id,
    tags: [tag],
    summary: doc,
    ...(vendor && vendor !== 'required' && { 'x-feature': vendor }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: json(body) } }),
    responses: Object.fromEntries([
      ...Object.entries(answers).map(([status, schema]) => [
        status,
        { description: meanings[status], ...(schema && { content: json(schema) }) },
      ]),
      ...refused.map(status => [status, { $ref: `#/components/responses/Problem${status}` }]),
      [tooManyRequests, { $ref: '#/components/responses/Problem503' }],
      ['default', { $ref: '#/components/responses/Problem503' }],
    ]),
  };
}

const meanings: Readonly<Record<string, string>> = {
  200: 'As asked.',
  201: 'Created now.',
  202: 'Not done yet: the resource as it is now, where it is there. The same request joins the work.',
  204: 'Done.',
};

function json(schema: z.ZodType): OpenApiNode {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${schema.meta()?.id}` } } };
}

/** All schemas with an id, each with an example. Unknown members of answers are to be ignored, so they are as they read. */
function toSchemas(): OpenApiNode {
  const { schemas } = z.toJSONSchema(z.globalRegistry, {
    io: 'input',
    uri: id => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _id, id: _name, ...schema }]) => [
      name,
      Object.assign(schema, { examples: [exampleOf(schema, schemas)] }),
    ]),
  );
}

type Schemas = Readonly<Record<string, z.core.JSONSchema.BaseSchema>>;

/** The example that a schema has, or one of all its members. */
function exampleOf(schema: z.core.JSONSchema.BaseSchema, schemas: Schemas): unknown {
  const { $ref, examples, anyOf, oneOf: [first] = anyOf ?? [], items, properties } = schema;
  const known = examples?.[0] ?? schema.default ?? schema.const ?? schema.enum?.[0];
  if (known !== undefined) return known;
  const target = $ref === undefined ? first : schemas[$ref.slice($ref.lastIndexOf('/') + 1)];
  if (target) return exampleOf(target, schemas);
  if (schema.type === 'array') return [exampleOf(items as typeof schema, schemas)];
  if (schema.type === 'object')
    return Object.fromEntries(
      Object.entries(properties ?? {}).map(([key, member]) => [
        key,
        exampleOf(member as typeof schema, schemas),
      ]),
    );
  return { boolean: false, integer: 1, string: 'text' }[schema.type as string];
}

function toResponse(codes: readonly ProblemCode[]): OpenApiNode {
  const [first = 'UNAVAILABLE'] = codes;
  const example = toDocument(new Problem(first, problemTable[first].title), 'f81d4fae');
  const content = { schema: { $ref: '#/components/schemas/Problem' }, example };
  return {
    description: codes.map(code => `\`${code}\`: ${problemTable[code].title}`).join('; '),
    content: { 'application/problem+json': content },
  };
}
