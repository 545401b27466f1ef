// Writes two files that are not in git: docs/reference/openapi.json, which a gateway serves as /openapi.json, and the
// vendor's part of it beside the example in Python. `npm ci` runs this. docs/reference/vendor-openapi.json is in git.

import { writeFileSync } from 'node:fs';
import { openApiDocument, vendorDocument } from '../../src/api/http/openapi.ts';
import { version } from '../../src/lib/version.ts';

for (const [name, document] of Object.entries({
  'reference/openapi.json': openApiDocument(version),
  '../examples/vendor-python/openapi.json': vendorDocument(version),
}))
  writeFileSync(new URL(`../${name}`, import.meta.url), `${JSON.stringify(document, null, 2)}\n`);
