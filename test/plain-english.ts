import { globSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';

/** A comment, a line of a page, or a text in the code. */
type Passage = { readonly file: string; readonly line: number; readonly text: string };

/** The passages of a folder that a reader has to puzzle out, each as `FILE:LINE: TEXT`. */
type Puzzles = {
  readonly passages: number;
  readonly words: number;
  /** Passages that open with a question word or a pronoun. */
  readonly openings: readonly string[];
  /** Clauses without a noun that they are about. */
  readonly headless: readonly string[];
};

const opening = /^(?:What|Who|Which|Where|Whose|Of|How|Whether|That|Those|It|Nobody)\b/v;
/** A text may open with `it`, `that` or `of`: it often goes on after another one. */
const textOpening = /^(?:what|who|how|whether|those|nobody)\b/iv;
const headless =
  /\bwhat(?:ever)?\b|\b(?:whoever|whichever)\b|\b(?:of|to|for|by|with|from|in|than|as|and|or|but) who(?:se|m)?\b|[,;:.] who(?:se|m)? |^who\b|\b(?:of|to|for|by|with|from|in|on|at|after|behind) which\b|\bthose (?:who|that|which|of)\b|\bthat (?:which|of)\b/giv;

/** All sources but generated ones, and the pages. */
const files = globSync([
  '{src,gateway,node-agent,test,deploy,docs,proto,examples}/**/*.{ts,tsx,js,mjs,go,proto,sh,py,yaml,tpl,service,cil,css}',
  'deploy/image/Dockerfile',
  '.ci/run',
]).filter(file => !/generated|node_modules|\.d\.ts$|snapshots\/[a-z\-]+\.yaml$/v.test(file));
const pages = ['README.md', 'AGENTS.md', ...globSync('docs/{*,guides/*}.md')];

/**
 * Finds the puzzles of all pages, and of the comments and texts in each folder. A text is a message, a
 * description or the title of a test. The keys are the first two levels of the folders' paths.
 */
export function findPuzzles(): ReadonlyMap<string, Puzzles> {
  const byFolder = Map.groupBy(files, file => file.split('/').slice(0, -1).slice(0, 2).join('/'));
  const found = [...byFolder].flatMap(([folder, names]): [string, Puzzles][] => [
    [folder, toPuzzles(names.flatMap(commentsOf), opening)],
    [`${folder} (texts)`, toPuzzles(names.flatMap(textsOf), textOpening)],
  ]);
  const all = new Map([...found, ['docs', toPuzzles(pages.flatMap(linesOf), opening)]]);
  return new Map([...all].filter(([, { passages }]) => passages > 0));
}

/** The goal: openings and headless clauses of so many passages; of pages, headless clauses of so many words. */
export function goalOf(
  folder: string,
  { passages, words }: Puzzles,
): { readonly openings: number; readonly headless: number } {
  const openings = Math.ceil(passages / 50);
  return { openings, headless: folder === 'docs' ? Math.ceil(words / 2_000) : openings };
}

function toPuzzles(passages: readonly Passage[], openingPattern: RegExp): Puzzles {
  const show = ({ file, line, text }: Passage): string => `${file}:${line}: ${text.slice(0, 160)}`;
  return {
    passages: passages.length,
    words: passages.reduce((sum, { text }) => sum + text.split(/\s+/v).length, 0),
    openings: passages.filter(({ text }) => openingPattern.test(text)).map(show),
    headless: passages.flatMap(passage => (passage.text.match(headless) ?? []).map(() => show(passage))),
  };
}

/** A language's signs for a comment to the end of the line, and for one of several lines. */
type Signs = { readonly line: RegExp; readonly begin: RegExp; readonly end: RegExp };

const slashes: Signs = { line: /^\/\//v, begin: /^\/\*+/v, end: /\*\//v };
const hashes: Signs = { line: /^#(?!!)/v, begin: /^(?:\{\{-? *\/\*|""")/v, end: /\*\/ *-?\}\}|"""/v };

/** Comments that follow each other line by line are one. */
function commentsOf(file: string): readonly Passage[] {
  const signs = ['.ts', '.tsx', '.js', '.mjs', '.go', '.proto', '.css'].includes(extname(file))
    ? slashes
    : hashes;
  const comments: Passage[] = [];
  let open: { line: number; text: string; isBlock: boolean } | undefined;
  const close = (): void => {
    const text = open?.text.replaceAll(/\s+/gv, ' ').trim() ?? '';
    if (open && text !== '') comments.push({ file, line: open.line, text });
    open = undefined;
  };
  for (const [index, whole] of readFileSync(file, 'utf8').split('\n').entries()) {
    const line = whole.trim();
    const rest = open?.isBlock ? line.replace(/^\*(?!\/)/v, '') : line.replace(signs.begin, '');
    if (open?.isBlock) open.text += ` ${rest.replace(signs.end, '')}`;
    else if (rest !== line) {
      close();
      open = { line: index + 1, text: rest.replace(signs.end, ''), isBlock: true };
    } else if (signs.line.test(line)) {
      open ??= { line: index + 1, text: '', isBlock: false };
      open.text += ` ${line.replace(signs.line, '')}`;
    } else close();
    if (open?.isBlock && signs.end.test(rest)) close();
  }
  close();
  return comments;
}

const commentOrString =
  /\/\*.*?\*\/|\/\/[^\n]*|(?<quote>['"`])(?<text>(?:(?!\k<quote>)[^\\]|\\.)*)\k<quote>/gsv;

/** Strings that look like a sentence: at least four words, and no code. */
function textsOf(file: string): readonly Passage[] {
  if (!file.endsWith('.ts')) return [];
  const whole = readFileSync(file, 'utf8');
  return whole
    .matchAll(commentOrString)
    .map(({ index, groups }) => ({
      file,
      line: whole.slice(0, index).split('\n').length,
      text: (groups?.['text'] ?? '')
        .replaceAll(/\$\{[^\{\}]*\}/gv, '…')
        .replaceAll(/\s+/gv, ' ')
        .trim(),
    }))
    .filter(({ text }) => /^["…\w][^=;\{\}<>]*$/v.test(text) && text.split(' ').length > 3)
    .toArray();
}

function linesOf(file: string): readonly Passage[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines
    .map((text, index) => ({ file, line: index + 1, text }))
    .filter(({ text }) => text.trim() !== '');
}

const usage = `Usage: node test/plain-english.ts [FOLDER …]

Prints for each folder how many comments and texts a reader has to puzzle out, or shows the ones of the named folders.
`;

function main(names: readonly string[]): void {
  if (names.includes('--help')) return void process.stdout.write(usage);
  for (const [folder, { passages, words, openings, headless: clauses }] of findPuzzles()) {
    if (names.length === 0)
      process.stdout.write(
        `${folder.padEnd(30)} ${passages} passages, ${words} words, ${openings.length} openings, ${clauses.length} headless clauses\n`,
      );
    const isNamed = names.some(
      name => folder === name || folder.startsWith(`${name}/`) || folder === `${name} (texts)`,
    );
    for (const line of isNamed ? new Set([...openings, ...clauses]) : []) process.stdout.write(`${line}\n`);
  }
}

if (import.meta.main) main(process.argv.slice(2));
