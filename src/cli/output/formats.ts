import { toPrintableJson } from '../../lib/json.ts';
import { choice } from '../../lib/parsers.ts';

/** Makes the setting for the output format; the first format is the default. */
export function outputFormats<const T extends string>(...formats: readonly [T, ...T[]]) {
  const doc = `output format: ${formats.join(', ')}`;
  return { doc, parse: choice(...formats), default: formats[0] as string, short: 'o' } as const;
}

/** Writes data as JSON without characters that could steer a terminal. */
export function toJson(data: unknown, indent = 2): string {
  return toPrintableJson(JSON.stringify(data, undefined, indent));
}

export async function toOutput(data: unknown, format: 'json' | 'yaml'): Promise<string> {
  if (format === 'json') return `${toJson(data)}\n`;
  const { stringify } = await import('yaml');
  return stringify(JSON.parse(JSON.stringify(data)));
}
