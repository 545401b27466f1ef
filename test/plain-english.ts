import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';

/** A comment of a TypeScript file. */
type Comment = { readonly file: string; readonly line: number; readonly text: string };

/** The comments of a folder, or of a documentation page, that a reader has to puzzle out. */
export type Puzzles = {
  readonly comments: number;
  readonly words: number;
  /** Comments that open with a question word or a pronoun, each as `FILE:LINE: TEXT`. */
  readonly openings: readonly string[];
  /** Clauses without a noun that they are about, each as `FILE:LINE: TEXT`. */
  readonly headless: readonly string[];
};

const opening = /^(?:What|Who|Which|Where|Whose|Of|How|Whether|That|Those|It|Nobody)\b/v;
const headless =
  /\bwhat(?:ever)?\b|\b(?:whoever|whichever)\b|\b(?:of|to|for|by|with|from|in|than|as|and|or|but) who(?:se|m)?\b|[,;:.] who(?:se|m)? |^who\b|\b(?:of|to|for|by|with|from|in|on|at|after|behind) which\b|\bthose (?:who|that|which|of)\b|\bthat (?:which|of)\b/giv;

/** The source files and the pages that are counted: all but generated ones. */
const files = globSync('{src,gateway,node-agent,test,deploy,docs,proto,examples}/**/*.ts').filter(
  file => !/generated|node_modules|\.d\.ts$/v.test(file),
);
const pages = ['README.md', 'AGENTS.md', ...globSync('docs/{*,guides/*}.md')];

/** Finds the puzzles of the comments in every folder, the first two levels of its path as the key, and of all pages. */
export function findPuzzles(): ReadonlyMap<string, Puzzles> {
  const byFolder = Map.groupBy(files, file => file.split('/').slice(0, -1).slice(0, 2).join('/'));
  const found = [...byFolder].map(
    ([folder, names]) => [folder, toPuzzles(names.flatMap(commentsOf))] as const,
  );
  return new Map([...found, ['docs', toPuzzles(pages.flatMap(linesOf))]]);
}

function toPuzzles(comments: readonly Comment[]): Puzzles {
  const show = ({ file, line, text }: Comment): string => `${file}:${line}: ${text.slice(0, 160)}`;
  return {
    comments: comments.length,
    words: comments.reduce((sum, { text }) => sum + text.split(/\s+/v).length, 0),
    openings: comments.filter(({ text }) => opening.test(text)).map(show),
    headless: comments.flatMap(comment => (comment.text.match(headless) ?? []).map(() => show(comment))),
  };
}

/** Comments that follow each other line by line are one. */
function commentsOf(file: string): readonly Comment[] {
  const comments: Comment[] = [];
  let open: { line: number; text: string; isBlock: boolean } | undefined;
  const close = (): void => {
    const text = open?.text.replaceAll(/\s+/gv, ' ').trim() ?? '';
    if (open && text !== '') comments.push({ file, line: open.line, text });
    open = undefined;
  };
  for (const [index, whole] of readFileSync(file, 'utf8').split('\n').entries()) {
    const line = whole.trim();
    if (open?.isBlock) open.text += ` ${line.replace(/^\*(?!\/)/v, '').replace(/\*\/$/v, '')}`;
    else if (line.startsWith('/*')) {
      close();
      open = { line: index + 1, text: line.replace(/^\/\*+/v, '').replace(/\*\/$/v, ''), isBlock: true };
    } else if (line.startsWith('//')) {
      open ??= { line: index + 1, text: '', isBlock: false };
      open.text += ` ${line.slice(2)}`;
    } else close();
    if (open?.isBlock && line.includes('*/')) close();
  }
  close();
  return comments;
}

function linesOf(file: string): readonly Comment[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines
    .map((text, index) => ({ file, line: index + 1, text }))
    .filter(({ text }) => text.trim() !== '');
}

/** The puzzles that a folder may still have, until it meets the goal. */
type Budget = Readonly<Record<string, { readonly openings: number; readonly headless: number }>>;

const budgetPath = 'test/plain-english.json';

/** Reads the budget; a folder without an entry has to meet the goal. */
export function readBudget(): Budget {
  return existsSync(budgetPath) ? (JSON.parse(readFileSync(budgetPath, 'utf8')) as Budget) : {};
}

/** The goal: openings and headless clauses of so many comments; of pages, headless clauses of so many words. */
export function goalOf(folder: string, { comments, words }: Puzzles): Budget[string] {
  if (folder === 'docs') return { openings: Math.ceil(comments / 50), headless: Math.ceil(words / 2_000) };
  return { openings: Math.ceil(comments / 50), headless: Math.ceil(comments / 50) };
}

/** Lowers the budget to the puzzles that are left; folders that meet the goal leave it. */
function shrinkBudget(): void {
  const left = [...findPuzzles()].flatMap(([folder, puzzles]) => {
    const [goal, openings, clauses] = [
      goalOf(folder, puzzles),
      puzzles.openings.length,
      puzzles.headless.length,
    ];
    if (openings <= goal.openings && clauses <= goal.headless) return [];
    const before = readBudget()[folder] ?? { openings, headless: clauses };
    const entry = {
      openings: Math.min(before.openings, openings),
      headless: Math.min(before.headless, clauses),
    };
    return [
      `  ${JSON.stringify(folder)}: ${JSON.stringify(entry)
        .replaceAll(/(?<=[:,])/gv, ' ')
        .replace('{', '{ ')
        .replace('}', ' }')}`,
    ];
  });
  writeFileSync(budgetPath, `{\n${left.sort().join(',\n')}\n}\n`);
}

const usage = `Usage: node test/plain-english.ts [--shrink | FOLDER …]

Prints how many comments of each folder a reader has to puzzle out, or shows those of the folders that are named.

  --shrink  lowers test/plain-english.json to what is left
`;

function main(names: readonly string[]): void {
  if (names.includes('--help')) return void process.stdout.write(usage);
  if (names.includes('--shrink')) return shrinkBudget();
  for (const [folder, { comments, words, openings, headless: clauses }] of findPuzzles()) {
    if (names.length === 0)
      process.stdout.write(
        `${folder.padEnd(30)} ${comments} comments, ${words} words, ${openings.length} openings, ${clauses.length} headless clauses\n`,
      );
    const isNamed = names.some(name => folder === name || folder.startsWith(`${name}/`));
    for (const line of isNamed ? new Set([...openings, ...clauses]) : []) process.stdout.write(`${line}\n`);
  }
}

if (import.meta.main) main(process.argv.slice(2));
