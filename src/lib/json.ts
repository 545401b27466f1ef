/** True when two pieces of plain data are equal, in any order of keys. An undefined member equals an absent one. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every(key => sameJson(a[key], b[key]));
}

/** Parses JSON; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Characters that could mislead a reader: controls, which steer terminals; characters without a width or that change
 * the direction of text; lone surrogates.
 */
export const unprintable =
  /[\p{Cc}\p{Cs}\u00AD\u061C\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]/gu;

/** Escapes the characters of a JSON text that a terminal could act on. The value stays the same. */
export function toPrintableJson(json: string): string {
  if (/^[ -~\n]*$/.test(json)) return json;
  return json.replaceAll(unprintable, one => (one === '\n' ? one : toEscape(one)));
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
