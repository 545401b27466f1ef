// Writes two files that are not in git: docs/reference/openapi.json, which a gateway serves as /openapi.json, and
// docs/reference/vendor-openapi.json, the vendor's part of it, also beside the example in Python. `npm ci` runs this.

import { writeFileSync } from 'node:fs';
import { openApiDocument, vendorDocument } from '../../src/api/http/openapi.ts';
import { version } from '../../src/lib/version.ts';

const forVendors = vendorDocument(version);
for (const [name, document] of Object.entries({
  'reference/openapi.json': openApiDocument(version),
  'reference/vendor-openapi.json': forVendors,
  '../examples/vendor-python/openapi.json': forVendors,
}))
  writeFileSync(new URL(`../${name}`, import.meta.url), `${JSON.stringify(document, null, 2)}\n`);
