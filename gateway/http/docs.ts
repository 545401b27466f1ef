import type { Hono } from 'hono';
import { html, raw } from 'hono/html';
import { openApiDocument, type OpenApiNode } from '../../src/api/http/openapi.ts';
import { respond, type Env, type RouteHandler } from './respond.ts';

/** The paths of the API's description, as a document and as a page. */
export const docsRoutes = { document: '/openapi.json', page: '/docs' } as const;

/** The page runs no script and loads nothing, so it can be saved as a file. */
const pageHeaders = {
  'content-type': 'text/html; charset=UTF-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'x-content-type-options': 'nosniff',
};

/** Serves the API's description as an OpenAPI document and as a page, each wrapped by `guard`. */
export function routeDocs(
  app: Hono<Env>,
  version: string,
  guard: (serve: RouteHandler) => RouteHandler,
): void {
  // Made once, at the first request, because it takes as long as a hundred requests.
  let document: string | undefined;
  let page: string | undefined;
  const serveDocument: RouteHandler = c => {
    document ??= JSON.stringify(openApiDocument(version));
    return respond(c, document, { headers: { 'content-type': 'application/json' } });
  };
  const servePage: RouteHandler = async c => {
    page ??= String(await toPage(openApiDocument(version) as Document));
    return respond(c, page, { headers: pageHeaders });
  };
  app.get(docsRoutes.document, guard(serveDocument));
  app.get(docsRoutes.page, guard(servePage));
}

type Document = {
  readonly info: Readonly<Record<'title' | 'version' | 'summary' | 'description', string>>;
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiNode>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, OpenApiNode>> };
};
type Html = ReturnType<typeof html>;

const style = raw(`
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color-scheme: light dark }
  summary { cursor: pointer; padding: .3em 0 }
  code, pre { font: 14px/1.4 ui-monospace, monospace }
  pre { overflow: auto; padding: .8em; border: 1px solid #8886; border-radius: 4px }
`);

function toPage({ info, tags, paths, components }: Document): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title}</title>
        <style>
          ${style}
        </style>
      </head>
      <body>
        <h1>${info.title} ${info.version}</h1>
        <p>${info.summary} ${info.description}</p>
        ${tags.map(
          ({ name }) =>
            html`<h2>${name}</h2>
              ${operationsOf(paths, name)}`,
        )}
        <h2>Schemas</h2>
        ${Object.entries(components.schemas).map(([name, schema]) => toSchema(name, schema))}
      </body>
    </html>`;
}

function operationsOf(paths: Document['paths'], tag: string): Html[] {
  return Object.entries(paths).flatMap(([path, { parameters, ...item }]) =>
    Object.entries(item)
      .filter(([, { tags }]) => (tags as readonly string[]).includes(tag))
      .map(([method, operation]) => toOperation(`${method.toUpperCase()} ${path}`, operation, parameters)),
  );
}

function toOperation(route: string, operation: OpenApiNode, shared: OpenApiNode | undefined): Html {
  const { operationId, summary, parameters = [], requestBody, responses } = operation;
  const allParameters = [shared ?? [], parameters].flat() as readonly OpenApiNode[];
  return html`<details id="${operationId}">
    <summary><code>${route}</code> ${summary}</summary>
    ${allParameters.length > 0 ? toDetails('Parameters', allParameters) : ''}
    ${requestBody ? toDetails('Body', requestBody) : ''} ${toDetails('Answers', responses)}
  </details>`;
}

function toSchema(name: string, { description, examples, ...schema }: OpenApiNode): Html {
  return html`<details id="schema-${name}">
    <summary><code>${name}</code> ${description}</summary>
    ${toDetails('Schema', schema)} ${examples ? toDetails('Examples', examples) : ''}
  </details>`;
}

/** Formats JSON with a link for each reference to a schema. */
function toDetails(title: string, value: unknown): Html {
  const parts = JSON.stringify(value, null, 2).split(/#\/components\/schemas\/(\w+)/);
  return html`<h4>${title}</h4>
    <pre>
${parts.map((part, index) => (index % 2 === 0 ? part : html`<a href="#schema-${part}">${part}</a>`))}</pre>`;
}
