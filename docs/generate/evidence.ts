import { readFileSync } from 'node:fs';

/** Tests of one file; without titles all of them. */
type Proof = { readonly file: string; readonly titles?: readonly string[]; readonly note?: string };

/** The proofs by the id of a rule, or by the row of a failure. */
type Proofs = Readonly<Record<string, readonly Proof[]>>;

/** Reads `test/evidence.json`: the tests of each rule in security.md, and of each row in field-failures.md. */
export function readEvidence(): { readonly security: Proofs; readonly failures: Proofs } {
  const text = readFileSync(new URL('../../test/evidence.json', import.meta.url), 'utf8');
  return JSON.parse(text) as ReturnType<typeof readEvidence>;
}

/** Writes docs/reference/evidence.md. */
export function evidencePage(): string {
  const { security, failures } = readEvidence();
  return `# Evidence

Generated from \`test/evidence.json\`. A "…" in a title stands for parts that vary; without a title, all tests of the file count.

## Security
These tests fail if a rule of [security.md](../security.md) is broken.

${toTable('rule', security)}

## Failures from the field
These tests inject the failures of [field-failures.md](../field-failures.md).

${toTable('row', failures)}
`;
}

function toTable(head: string, proofs: Proofs): string {
  const rows = Object.entries(proofs).flatMap(([id, files]) =>
    files.map(({ file, titles = [], note }) => {
      const about = [...titles.map(title => `"${title}"`), ...(note === undefined ? [] : [note])];
      return `| ${id} | \`${file}\` | ${about.join('; ')} |`;
    }),
  );
  return `| ${head} | file | tests |\n|---|---|---|\n${rows.join('\n')}`;
}
