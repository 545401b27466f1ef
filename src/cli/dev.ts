import { join } from 'node:path';
import { writeContext } from './commands/contexts.ts';
import { maxOf } from '../lib/numbers.ts';

type Ready = Readonly<Record<string, string>>;

/** Writes a context for the gateway of `fairlead dev`, unless its name is empty. Returns the flag that commands need to use it. */
export async function writeDevContext(
  { dir, context }: { readonly dir: string; readonly context: string },
  { gateway = '' }: Ready,
): Promise<string> {
  if (context === '') return '';
  return writeContext(process.env, context, { gateway, 'key-file': join(dir, 'operator.jwk.json') });
}

type Announcement = { readonly ready: Ready; readonly context: string; readonly isTerminal: boolean };

/** The announcement of a started `fairlead dev`: a box for people, or JSON for the program that started it. */
export function announceDev({ ready, context, isTerminal }: Announcement): string {
  if (!isTerminal) return `${JSON.stringify(ready)}\n`;
  const width = maxOf(Object.keys(ready).map(name => name.length));
  const lines = [
    'Fairlead is ready:',
    ...Object.entries(ready).map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    '',
    'In another terminal:',
    ...['get pools', 'get volumes', 'top'].map(words => `  fairlead ${words}${context}`),
    '',
    'Ctrl-C ends it. The volumes stay.',
  ];
  const longest = maxOf(lines.map(line => line.length));
  const rule = '─'.repeat(longest + 2);
  const rows = lines.map(line => `│ ${line.padEnd(longest)} │`);
  return [`┌${rule}┐`, ...rows, `└${rule}┘`, ''].join('\n');
}
