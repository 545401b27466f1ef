import type { Hono } from 'hono';
import { openApiDocument } from '../../src/api/openapi.ts';
import type { Env } from './respond.ts';

/** Where the API's description is served, as a document and as a page. */
export const docsRoutes = { document: '/openapi.json', page: '/docs' } as const;

/** A viewer of OpenAPI documents that makes `SwaggerUIBundle` known. */
export type Viewer = { readonly script: string; readonly style: string };

/** How the API is described: to anybody or only with a token, and by which viewer. */
export type Docs = { readonly isPublic: boolean; readonly readViewer: () => Promise<Viewer> };

const start = `SwaggerUIBundle({
  spec: JSON.parse(document.getElementById('document').textContent),
  dom_id: '#viewer',
  deepLinking: true,
  validatorUrl: null,
});`;

/** The description of the API. The page needs nothing beside itself, so that it can be kept as a file. */
export function routeDocs(
  app: Hono<Env>,
  { docs, version }: { readonly docs: Docs; readonly version: string },
): void {
  app.get(docsRoutes.document, c => c.json(openApiDocument(version)));

  app.get(docsRoutes.page, async c => {
    const { script, style } = await docs.readViewer();
    const scripts = [escapeScript(script), start];
    c.header('content-security-policy', await toPolicy(scripts));
    c.header('x-content-type-options', 'nosniff');
    return c.html(toPage(scripts, { style, document: openApiDocument(version) }));
  });
}

/** Only these scripts run, and they talk to nobody but this gateway. */
async function toPolicy(scripts: readonly string[]): Promise<string> {
  const hashes = await Promise.all(scripts.map(hash));
  return [
    "default-src 'none'",
    `script-src ${hashes.join(' ')}`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function toPage(
  scripts: readonly string[],
  { style, document }: { readonly style: string; readonly document: object },
): string {
  const data = JSON.stringify(document).replaceAll('<', String.raw`\u003c`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fairlead Storage API</title>
<style>${style}</style>
</head>
<body>
<div id="viewer"></div>
<script type="application/json" id="document">${data}</script>
${scripts.map(script => `<script>${script}</script>`).join('\n')}
</body>
</html>
`;
}

/** What would end the script's element or begin a comment in it means the same in a string or pattern when escaped. */
function escapeScript(script: string): string {
  return script.replaceAll(/<(?=!--|\/?script)/gi, String.raw`\x3c`);
}

async function hash(script: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(script));
  return `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`;
}
