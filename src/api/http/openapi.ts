import * as z from 'zod';
import { shortNamePattern, idPattern, maxIdBytes, vendorIdPattern } from '../ids.ts';
import { nodeId } from '../node.ts';
import { allOperations, problemsOf, vendorOperations, type NamedOperation } from '../operations.ts';
import { problemTable, toDocument, tooManyRequests, Problem, type ProblemCode } from '../problem.ts';

export type OpenApiNode = { readonly [key: string]: unknown };

const idSchema = { type: 'string', maxLength: maxIdBytes, pattern: idPattern, examples: ['east.pvc-1'] };
const clusterSchema = { type: 'string', maxLength: 32, pattern: shortNamePattern.source, examples: ['west'] };
/** The ids at a vendor, which the gateway chooses: any text that can be part of a path without encoding. */
const vendorIdSchema = { ...idSchema, pattern: vendorIdPattern.source };
const { $schema: _, ...nodeIdSchema } = z.toJSONSchema(nodeId);

const prefer: OpenApiNode = {
  name: 'Prefer',
  in: 'header',
  description:
    'Maximum seconds until the answer: at most 60, 30 by default (RFC 7240). Unfinished work then answers 202 and ' +
    'continues; the same request joins it.',
  schema: { type: 'string', examples: ['wait=10'] },
};

const timeout: OpenApiNode = {
  name: 'X-Timeout-Ms',
  in: 'header',
  description:
    'Time in milliseconds after which the caller gives up. Work that has not started by then does not start; other work continues.',
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
    description: 'A JWT signed by a key of an enrolled caller. It alone identifies the caller.',
  },
};

const problems = toResponses();

/** Makes the OpenAPI 3.1 document of the Storage API v1, for servers of this version. */
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

/** Makes the OpenAPI 3.1 document of the operations that vendors serve, with the schemas that they use. */
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
      summary: 'The API that a storage system serves to be a pool of a Fairlead gateway.',
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

/** Makes one response per status, with all codes of that status. */
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
    schema: name === 'nodeId' ? nodeIdSchema : name === 'grantee' || name === 'cluster' ? clusterSchema : id,
  }));
  return {
    ...(parameters.length > 0 && { parameters }),
    ...Object.fromEntries(all.map(operation => [operation.method.toLowerCase(), toOperation(operation)])),
  };
}

function toOperation(operation: NamedOperation): OpenApiNode {
  const { id, tag, doc, query, body, answers, vendor } = operation;
  const { properties = {} } = z.toJSONSchema(query ?? z.object(), { io: 'input' });
  const queryParameters = Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
  const parameters = answers[202] ? [...queryParameters, prefer, timeout] : queryParameters;
  const problemStatuses = problemsOf(operation).map(code => problemTable[code].http);
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
      ...problemStatuses.map(status => [status, { $ref: `#/components/responses/Problem${status}` }]),
      [tooManyRequests, { $ref: '#/components/responses/Problem503' }],
      ['default', { $ref: '#/components/responses/Problem503' }],
    ]),
  };
}

const meanings: Readonly<Record<string, string>> = {
  200: 'The result.',
  201: 'Created by this request.',
  202: 'Not done yet: the present state of the resource, if it exists. The same request joins the work.',
  204: 'Done.',
};

function json(schema: z.ZodType): OpenApiNode {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${schema.meta()?.id}` } } };
}

/** Makes all schemas with an id, each with an example. They describe input, so that clients ignore unknown members. */
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

/** Returns the example of a schema, or builds one from its members. */
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
