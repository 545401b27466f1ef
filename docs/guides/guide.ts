import { readFileSync } from 'node:fs';

/** A step of a guide: commands for a machine, or the content of a file on it. */
export type Step = { readonly machine: string; readonly text: string; readonly file: string | undefined };

/**
 * Reads the steps of a guide in order. A step is a fenced block that names a machine after its language, and a file after
 * that. Other blocks are examples. Each key of `replaced` is replaced by its value.
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

/** Converts the step into commands for bash. */
export function toShell({ text, file }: Step): string {
  return file === undefined ? text : `cat > ${file} <<'END'\n${text}END`;
}
