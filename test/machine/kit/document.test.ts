import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { referenceVendors, startVendor } from '../../fakes/storages/reference.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/reference/vendor-api.md'), 'utf8');
const examples = [...text.matchAll(/^```sh curl\n([^]*?)^```\n```json\n([^]*?)^```$/gm)];

for (const { language, command, skip } of referenceVendors)
  test(`the vendor in ${language} answers as every example of its document`, { skip }, async t => {
    assert.equal(examples.length, text.split('```sh curl').length - 1);
    const { url, token } = await startVendor(t, { command });
    const env = { ...process.env, URL: url, TOKEN: token };
    for (const [, script = '', expected = ''] of examples) {
      const { stdout } = await promisify(execFile)('bash', ['-ec', script], { env });
      assertLike(JSON.parse(stdout), JSON.parse(expected), stdout);
    }
  });

/** Fails unless all expected members are there: `…` matches any text, and further members are allowed. */
function assertLike(found: unknown, expected: unknown, said: string): void {
  if (expected === '…') return assert.ok(typeof found === 'string' && found !== '', said);
  if (typeof expected !== 'object' || expected === null) return assert.deepEqual(found, expected, said);
  if (Array.isArray(expected)) assert.equal((found as unknown[]).length, expected.length, said);
  for (const [name, value] of Object.entries(expected))
    assertLike((found as Readonly<Record<string, unknown>>)[name], value, said);
}
