import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Runs a command and returns its output; rejects with its error output if it fails. */
export async function capture(argv: readonly string[], input = ''): Promise<string> {
  const [command = '', ...args] = argv;
  const child = spawn(command, args, { cwd: '/' });
  child.stdin.on('error', () => {}).end(input);
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  if (status !== 0) throw new Error(`${argv.join(' ')}: ${stderr.trim()}`);
  return stdout.trim();
}
