import { commands } from './commands.ts';
import { runCommand, type Io } from './run.ts';

// To import it is to load all that it would load late.
const { styleText } = process.getBuiltinModule('node:util');

/** The streams are made when they are needed: a program that only logs has none. */
const io: Io = {
  out(text) {
    const { stdout } = process;
    if (stdout.listenerCount('error') === 0) stdout.on('error', endOfOutput);
    stdout.write(text);
  },
  err: text => void process.stderr.write(text),
  env: process.env,
  get isTerminal() {
    return process.stdout.isTTY;
  },
  style: (format, text) => styleText(format, text),
};

const argv = process.argv.slice(2);
if (argv[0] === '--version') io.out(`${(await import('../lib/version.ts')).version}\n`);
else {
  const status = await runCommand(argv, { path: 'fairlead', commands }, io);
  if (status !== undefined) process.exitCode = status;
}

/** Who reads as far as it wants, such as `head`, ends the rest. */
function endOfOutput({ code }: NodeJS.ErrnoException): void {
  process.exit(code === 'EPIPE' ? 0 : 1);
}
