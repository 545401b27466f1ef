import { choice } from '../../lib/parsers.ts';

/** The setting of how data is written, the first of these unless another is named. */
export function outputFormats<const T extends string>(...formats: readonly [T, ...T[]]) {
  const doc = `how it is written: ${formats.join(', ')}`;
  return { doc, parse: choice(...formats), default: formats[0] as string, short: 'o' } as const;
}

/** Data as text for other programs. */
export async function toOutput(data: unknown, format: 'json' | 'yaml'): Promise<string> {
  if (format === 'json') return `${JSON.stringify(data, undefined, 2)}\n`;
  const { stringify } = await import('yaml');
  return stringify(JSON.parse(JSON.stringify(data)));
}
