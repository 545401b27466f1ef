import { readFileSync } from 'node:fs';

/** What a guide tells to do: commands of a machine, or the content of a file on it. */
export type Step = { readonly machine: string; readonly text: string; readonly file: string | undefined };

/**
 * The steps of a guide in their order: fenced blocks that name a machine after their language, and a file after that. In
 * each, what stands for something of the reader's is replaced. Blocks that name no machine are examples.
 */
export function readGuide(path: string, replaced: Readonly<Record<string, string>> = {}): readonly Step[] {
  const blocks = readFileSync(path, 'utf8').matchAll(
    /^( *)```(?:sh|yaml) (\S+)(?: (\S+))?\n([^]*?)^ *```$/gm,
  );
  const replace = (text: string): string =>
    Object.entries(replaced).reduce((all, [from, to]) => all.replaceAll(from, to), text);
  return [...blocks].map(([, indent = '', machine = '', file, text = '']) => ({
    machine,
    text: replace(text.replaceAll(new RegExp(`^${indent}`, 'gm'), '')),
    file: file && replace(file),
  }));
}

/** The step as bash takes it. */
export function toShell({ text, file }: Step): string {
  return file === undefined ? text : `cat > ${file} <<'END'\n${text}END`;
}
