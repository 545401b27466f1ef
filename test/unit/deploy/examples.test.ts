import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { values } from '../../../deploy/values/values.ts';

const given = values.parse(parse(readFileSync('deploy/values/examples.yaml', 'utf8')));

test('the examples use classes that the chart makes with their values', () => {
  const lists = Object.values(given).filter(value => Array.isArray(value));
  const classes = new Set(lists.flat().map(one => (one as { readonly name: string }).name));
  for (const file of globSync('deploy/examples/*.yaml')) {
    const named = readFileSync(file, 'utf8').matchAll(/(?:storage|volume\w+)ClassName: ([\w-]+)/g);
    for (const [, name = ''] of named) assert.ok(classes.has(name), `${file}: ${name}`);
  }
});
