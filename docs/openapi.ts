// Writes docs/openapi.json, which is not in git: what a gateway serves as /openapi.json. `npm ci` runs it.

import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../src/api/openapi.ts';
import { version } from '../src/lib/version.ts';

const document = JSON.stringify(openApiDocument(version), null, 2);
writeFileSync(new URL('openapi.json', import.meta.url), `${document}\n`);
