import { readFileSync } from 'node:fs';

/** Tests of one file; without titles all of them. */
type Proof = { readonly file: string; readonly titles?: readonly string[]; readonly note?: string };

/** The proofs by the id of a rule, by the row of a failure, or by the name of an alert. */
type Proofs = Readonly<Record<string, readonly Proof[]>>;

/** The tests of each rule in security.md, of each row in field-failures.md, and of each alert. */
type Evidence = Readonly<Record<'security' | 'failures' | 'alerts', Proofs>>;

/** Reads `test/evidence.json`. */
export function readEvidence(): Evidence {
  const text = readFileSync(new URL('../../test/evidence.json', import.meta.url), 'utf8');
  return JSON.parse(text) as Evidence;
}

/** Writes docs/reference/evidence.md. */
export function evidencePage(): string {
  const { security, failures, alerts } = readEvidence();
  return `# Evidence

Generated from \`test/evidence.json\`. A "…" in a title stands for parts that vary; without a title, all tests of the file count.

## Security
These tests fail if a rule of [security.md](../security.md) is broken.

${toTable('rule', security)}

## Failures from the field
These tests inject the failures of [field-failures.md](../field-failures.md).

${toTable('row', failures)}

## Alerts
These tests cause the incident of each alert, and follow its section of [runbook.md](../runbook.md).

${toTable('alert', alerts)}
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
