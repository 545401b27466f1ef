const quoteIt = 'put the text in quotes if the character belongs to it';

/** The rule of YAML that a file breaks, and then the remedy, by the code of the parser. */
const faults: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias (*name) has a tag or an anchor; remove it',
  BAD_ALIAS: `an anchor (&name) or alias (*name) has no name, or its name ends in a colon; ${quoteIt}`,
  BAD_COLLECTION_TYPE: 'a tag (!name) does not fit its value; remove the tag',
  BAD_DIRECTIVE: 'a line with % in front is no directive of YAML; remove it',
  BAD_DQ_ESCAPE: 'a backslash in double quotes begins no known escape; write \\\\, or use single quotes',
  BAD_INDENT:
    'the indentation is wrong, or a bracket above is open; begin the entries of one part in the same column, and close brackets',
  BAD_PROP_ORDER: 'a tag or an anchor is in front of "-", "?" or ":"; move it behind',
  BAD_SCALAR_START: `a value begins with a character that YAML reserves; ${quoteIt}`,
  BLOCK_AS_IMPLICIT_KEY:
    'a value goes on with another key or entry; begin the keys of one part in the same column, each on its own line, and put text with ": " in quotes',
  BLOCK_IN_FLOW: 'an indented part is inside of { } or [ ]; write it with { } or [ ], too',
  DUPLICATE_KEY: 'the key is in this part twice; remove one of them',
  KEY_OVER_1024_CHARS: 'a key has more than 1024 characters; shorten it, or add the missing colon or quote',
  MISSING_CHAR:
    'a character is missing; close quotes and brackets, separate entries in { } and [ ] by commas, and write a colon and a space after a key',
  MULTILINE_IMPLICIT_KEY:
    'a key is not on one line with its colon; add the colon, or close the quotes or brackets above',
  MULTIPLE_ANCHORS: 'a value has two anchors (&name); keep one',
  MULTIPLE_DOCS: 'a line with --- begins a second document; keep one',
  MULTIPLE_TAGS: 'a value has two tags (!name); keep one',
  NON_STRING_KEY: 'a key is no text; put it in quotes',
  RESOURCE_EXHAUSTION: 'the parts are nested too deeply; remove some brackets',
  TAB_AS_INDENT: 'a tab is used as indentation; use spaces',
  TAG_RESOLVE_FAILED: `a tag (!name) is not known; ${quoteIt}`,
  UNEXPECTED_TOKEN: `a character has no meaning here; remove it, or ${quoteIt}`,
};

const badAlias = 'an alias (*name) has no anchor (&name) above it, or repeats too much; write its value out';

/** An error of the parser of YAML, with its place if the parser was told to find it. */
type YamlError = {
  readonly code?: unknown;
  readonly linePos?: readonly { readonly line: number; readonly col: number }[] | undefined;
};

/** Gives the place, the fault and the remedy of an error in a YAML file, to follow the file's name: `:3:5: …`. */
export function describeYamlError({ code, linePos: [place] = [] }: YamlError): string {
  const at = place ? `:${place.line}:${place.col}` : '';
  // Only aliases have errors without a code: they are resolved after the file was parsed.
  const fault = typeof code === 'string' ? faults[code] : badAlias;
  return `${at}: ${fault ?? 'this is not YAML; correct it'}`;
}
