import { z } from 'zod';
import { components } from './components.ts';
import { idPattern, maxIdBytes } from './ids.ts';
import { commonProblems, operations, type Operation, type QueryName } from './operations.ts';
import { problemTable, toDocument, Problem, type ProblemCode } from './problem.ts';
import { maxPageBlocks, maxPageEntries } from './routes.ts';

/** A part of an OpenAPI document. */
export type OpenApiNode = { readonly [key: string]: unknown };

const idSchema = { type: 'string', maxLength: maxIdBytes, pattern: idPattern, examples: ['east.pvc-1'] };
const nodeIdSchema = { type: 'string', minLength: 1, maxLength: 256, examples: ['node-1'] };
const tokenSchema = { type: 'string', examples: ['MTplYXN0LnB2Yy0x'] };
const offsetSchema = { type: 'integer', minimum: 0, default: 0 };

const queryParameters: Readonly<Record<QueryName, OpenApiNode>> = {
  limit: query(
    'limit',
    'Most entries in the page; 0: as many as one page holds.',
    countSchema(maxPageEntries),
  ),
  pageToken: query('pageToken', 'The `nextPageToken` of the page before.', tokenSchema),
  volumeId: query('volumeId', 'Only the snapshots of this volume.', idSchema),
  base: query('base', 'An older snapshot of the same volume.', idSchema),
  offset: query('offset', 'Only blocks that end after this byte.', offsetSchema),
  blockLimit: query(
    'limit',
    'Most stretches in the page; 0: as many as one page holds.',
    countSchema(maxPageBlocks),
  ),
};

const prefer: OpenApiNode = {
  name: 'Prefer',
  in: 'header',
  description:
    'How many seconds the answer may take, at most 60, 30 when absent (RFC 7240). Work that is not done by then ' +
    'answers 202 and goes on; the same request joins it.',
  schema: { type: 'string', pattern: '^wait=\\d{1,9}$', examples: ['wait=10'] },
};

/** The Storage API v1 as an OpenAPI 3.1 document, for servers of this version. */
export function openApiDocument(version: string): OpenApiNode {
  const paths = Map.groupBy(operations, ({ path }) => toTemplate(path));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Fairlead Storage API',
      version,
      summary: 'Volumes, snapshots and attachments for clusters, from one hosted place.',
      description:
        'The URL is the idempotency key: every mutating operation is PUT or DELETE and may be repeated. An error is a ' +
        'problem document whose `code` decides; the HTTP status is a hint.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map(name => ({ name })),
    paths: Object.fromEntries([...paths].map(([path, all]) => [path, toPathItem(path, all)])),
    components: {
      schemas: { ...toSchemas(), Problem: problemSchema() },
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'A JWT that a key of an enrolled cluster has signed. The cluster comes from it alone.',
        },
      },
      responses: Object.fromEntries(statuses().map(status => [`Problem${status}`, toResponse(status)])),
    },
  };
}

function countSchema(most: number): OpenApiNode {
  return { type: 'integer', minimum: 0, default: 0, examples: [most] };
}

function query(name: string, description: string, schema: OpenApiNode): OpenApiNode {
  return { name, in: 'query', description, schema };
}

/** A router's path as OpenAPI writes it. */
function toTemplate(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

function toPathItem(path: string, all: readonly Operation[]): OpenApiNode {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const parameters = names.map(name => ({
    name,
    in: 'path',
    required: true,
    schema: name === 'nodeId' ? nodeIdSchema : idSchema,
  }));
  return {
    ...(parameters.length > 0 && { parameters }),
    ...Object.fromEntries(all.map(operation => [operation.method, toOperation(operation)])),
  };
}

function toOperation({
  id,
  tag,
  doc,
  query: names = [],
  body,
  answers,
  problems = [],
}: Operation): OpenApiNode {
  const parameters = [...names.map(name => queryParameters[name]), ...(answers[202] ? [prefer] : [])];
  const codes = [...commonProblems, ...problems];
  const refused = [...new Set(codes.map(code => problemTable[code].http))].sort((a, b) => a - b);
  return {
    operationId: id,
    tags: [tag],
    summary: doc,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: json(body) } }),
    responses: Object.fromEntries([
      ...Object.entries(answers).map(([status, schema]) => [status, toAnswer(Number(status), schema)]),
      ...refused.map(status => [status, { $ref: `#/components/responses/Problem${status}` }]),
      ['default', { $ref: '#/components/responses/Problem503' }],
    ]),
  };
}

const meanings: Readonly<Record<number, string>> = {
  200: 'As asked.',
  201: 'Made now.',
  202: 'Not done yet: the resource as it is now, where it is there. The same request joins the work.',
  204: 'Gone.',
};

function toAnswer(status: number, schema: z.ZodType | null): OpenApiNode {
  return { description: meanings[status] ?? '', ...(schema && { content: json(schema) }) };
}

function json(schema: z.ZodType): OpenApiNode {
  const component = components.get(schema);
  if (!component) throw new Error('a body of an operation is no component');
  return { 'application/json': { schema: { $ref: `#/components/schemas/${component.id}` } } };
}

/** Unknown members of answers are to be ignored, so all schemas are as they read. */
function toSchemas(): OpenApiNode {
  const { schemas } = z.toJSONSchema(components, {
    io: 'input',
    metadata: components,
    override({ zodSchema, jsonSchema }) {
      if (zodSchema instanceof z.ZodType && zodSchema.description !== undefined)
        jsonSchema.description = zodSchema.description;
    },
    uri: id => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _id, id: _name, ...schema }]) => [
      name,
      schema,
    ]),
  );
}

function statuses(): readonly number[] {
  return [...new Set(Object.values(problemTable).map(({ http }) => http))].sort((a, b) => a - b);
}

function codesOf(status: number): readonly ProblemCode[] {
  return (Object.keys(problemTable) as ProblemCode[]).filter(code => problemTable[code].http === status);
}

function toResponse(status: number): OpenApiNode {
  const [first = 'UNAVAILABLE'] = codesOf(status);
  const meaning = codesOf(status).map(code => `\`${code}\`: ${problemTable[code].title}`);
  const example = toDocument(new Problem(first, problemTable[first].title), 'f81d4fae');
  const content = { schema: { $ref: '#/components/schemas/Problem' }, example };
  return { description: meaning.join('; '), content: { 'application/problem+json': content } };
}

function problemSchema(): OpenApiNode {
  return {
    description: 'An RFC 9457 problem document. `code` decides; `status` is a hint.',
    type: 'object',
    properties: {
      type: { type: 'string', format: 'uri' },
      title: { type: 'string' },
      status: { type: 'integer' },
      code: { type: 'string', enum: Object.keys(problemTable) },
      detail: { type: 'string', description: 'What was found, for people.' },
      requestId: { type: 'string', description: 'The same as in the header `x-request-id`.' },
    },
    required: ['type', 'title', 'status', 'code', 'detail'],
  };
}
