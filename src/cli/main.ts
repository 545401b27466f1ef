import { commands } from './commands.ts';
import { streams } from './output/terminal.ts';
import { runCommand, type Io } from './run.ts';

// A static import would load all of node:util at start.
const { styleText } = process.getBuiltinModule('node:util');

const io: Io = {
  ...streams,
  env: process.env,
  get isTerminal() {
    return process.stdout.isTTY;
  },
  get errColumns() {
    return process.stderr.columns;
  },
  style: (format, text) => styleText(format, text),
};

const argv = process.argv.slice(2);
if (argv[0] === '--version') io.out(`${(await import('../lib/version.ts')).version}\n`);
else {
  const status = await runCommand(argv, { path: 'fairlead', commands }, io);
  if (status !== undefined) process.exitCode = status;
}
