import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from 'yaml';
import { describeYamlError } from '../../../src/lib/words/yaml.ts';

/** All codes of the parser; the compiler reports a new one. */
const codes: Readonly<Record<ErrorCode, true>> = {
  ALIAS_PROPS: true,
  BAD_ALIAS: true,
  BAD_COLLECTION_TYPE: true,
  BAD_DIRECTIVE: true,
  BAD_DQ_ESCAPE: true,
  BAD_INDENT: true,
  BAD_PROP_ORDER: true,
  BAD_SCALAR_START: true,
  BLOCK_AS_IMPLICIT_KEY: true,
  BLOCK_IN_FLOW: true,
  DUPLICATE_KEY: true,
  IMPOSSIBLE: true,
  KEY_OVER_1024_CHARS: true,
  MISSING_CHAR: true,
  MULTILINE_IMPLICIT_KEY: true,
  MULTIPLE_ANCHORS: true,
  MULTIPLE_DOCS: true,
  MULTIPLE_TAGS: true,
  NON_STRING_KEY: true,
  RESOURCE_EXHAUSTION: true,
  TAB_AS_INDENT: true,
  TAG_RESOLVE_FAILED: true,
  UNEXPECTED_TOKEN: true,
};

test('each fault that the parser of YAML finds has words of its own, with the place and the remedy', () => {
  const words = Object.keys(codes).map(code => describeYamlError({ code, linePos: [{ line: 3, col: 5 }] }));
  assert.equal(new Set(words).size, words.length);
  for (const one of words) assert.match(one, /^:3:5: [^;]+; [^;]+$/);
});
