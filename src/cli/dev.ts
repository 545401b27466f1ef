import { join } from 'node:path';
import { interruptBySignal, type RunningProgram } from '../lib/lifecycle.ts';
import { maxOf } from '../lib/numbers.ts';
import { writeContext, type WrittenContext } from './commands/contexts.ts';
import { stderr, stdout } from './output/terminal.ts';

type Ready = RunningProgram['ready'];

/** Settings of `fairlead dev`. */
type DevConfig = { readonly dir: string; readonly context: string };

/** The signal that stops a start, and functions to call when a program ends by itself, and for lines about a long wait. */
type StartOptions = {
  readonly interrupt: AbortSignal;
  readonly fail: (reason: string) => void;
  readonly say: (line: string) => void;
};

/** Creates the start and the announcement of `fairlead dev`. A context for its gateway exists while it runs. */
export function createDevRun<Config extends DevConfig>(
  startDev: (config: Config, options: StartOptions) => Promise<RunningProgram>,
) {
  let written: Promise<WrittenContext | undefined> | undefined;
  let context: WrittenContext | undefined;
  return {
    async start(config: Config): Promise<RunningProgram> {
      const interrupt = interruptBySignal();
      const removeContext = async (): Promise<void> => (await written)?.remove();
      const fail = (reason: string): void => {
        say(reason);
        void removeContext().finally(() => process.exit(1));
      };
      const running = await startDev(config, { interrupt, fail, say });
      written = writeDevContext(config, running.ready).catch((error: Error) => {
        say(`${error.message}; give the commands --gateway and --key-file`);
        return undefined;
      });
      context = await written;
      const close = (): Promise<void> => running.close().finally(removeContext);
      if (!interrupt.aborted) return { ...running, close };
      await close();
      throw interrupt.reason;
    },
    announce({ ready }: Pick<RunningProgram, 'ready'>): void {
      // A user who starts dev by npx in a checkout has no other way to call it.
      const command = process.env['npm_command'] === 'exec' ? 'npx fairlead' : 'fairlead';
      const { isTTY: isTerminal } = process.stdout;
      stdout.write(announceDev({ ready, command, context: context?.flag ?? '', isTerminal }));
    },
  };
}

/** Writes a context for the gateway of `fairlead dev`, unless its name is empty. */
async function writeDevContext(
  { dir, context: wanted }: DevConfig,
  { gateway = '' }: Ready,
): Promise<WrittenContext | undefined> {
  if (wanted === '') return undefined;
  const keyFile = join(dir, 'operator.jwk.json');
  const context = await writeContext(process.env, wanted, { gateway, 'key-file': keyFile });
  if (context.name !== wanted)
    say(`the context "${wanted}" belongs to another gateway, so this one has the context "${context.name}"`);
  return context;
}

type Announcement = {
  readonly ready: Ready;
  /** The command that starts Fairlead, and the flag that selects its context. */
  readonly command: string;
  readonly context: string;
  readonly isTerminal: boolean;
};

/** The announcement of a started `fairlead dev`: a box for people, or JSON for the program that started it. */
export function announceDev({ ready, command, context, isTerminal }: Announcement): string {
  if (!isTerminal) return `${JSON.stringify(ready)}\n`;
  const width = maxOf(Object.keys(ready).map(name => name.length));
  const lines = [
    'Fairlead is ready:',
    ...Object.entries(ready).map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    '',
    'In another terminal:',
    ...['console', 'get pools', 'get volumes', 'top'].map(words => `  ${command} ${words}${context}`),
    '',
    'Ctrl-C ends it. The volumes stay.',
  ];
  const longest = maxOf(lines.map(line => line.length));
  const rule = '─'.repeat(longest + 2);
  const rows = lines.map(line => `│ ${line.padEnd(longest)} │`);
  return [`┌${rule}┐`, ...rows, `└${rule}┘`, ''].join('\n');
}

function say(line: string): void {
  stderr.write(`fairlead dev: ${line}\n`);
}
