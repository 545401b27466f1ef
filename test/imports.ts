import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };

/**
 * An import of a file: a path below the project, or a package. An import of types alone is erased before the file runs;
 * a late import loads its target when its statement runs.
 */
export type Import = { readonly target: string; readonly isType: boolean; readonly isLate: boolean };

const statement =
  /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|\b(?:import|getBuiltinModule)\('([^']+)'\)/gm;

const imports = new Map<string, readonly Import[]>();

/**
 * Lists the imports of a TypeScript file, including dynamic imports and modules of Node.js that are loaded late. It reads
 * each file once.
 */
export function importsOf(file: string): readonly Import[] {
  return imports.getOrInsertComputed(file, readImports);
}

function readImports(file: string): readonly Import[] {
  const statements = readFileSync(file, 'utf8').matchAll(statement);
  return [...statements].map(([, type, fixed, dynamic]) => {
    const name = fixed ?? dynamic ?? '';
    const chosen = packageJson.imports[name as keyof typeof packageJson.imports]?.default;
    const target = name.startsWith('.')
      ? relative('.', join(dirname(file), name))
      : (chosen?.slice(2) ?? name);
    return { target, isType: type !== undefined, isLate: dynamic !== undefined };
  });
}

/**
 * Lists the files and packages that loading a file may load, by the imports that `counts` accepts. Imports of types
 * alone never load a file.
 */
export function filesLoadedBy(
  entry: string,
  counts: (one: Import) => boolean = () => true,
): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    if (!file.endsWith('.ts') || !existsSync(file)) return;
    for (const one of importsOf(file)) if (!one.isType && counts(one)) visit(one.target);
  };
  visit(entry);
  return seen;
}

/**
 * Finds the shortest import circle through each of these files. Imports of types alone and late imports count as well.
 */
export function circlesOf(files: readonly string[]): readonly string[] {
  const known = new Set(files);
  const targets = new Map(
    files.map(file => [
      file,
      importsOf(file)
        .map(({ target }) => target)
        .filter(target => known.has(target)),
    ]),
  );
  return files.flatMap(file => wayBack(file, targets) ?? []);
}

function wayBack(start: string, targets: ReadonlyMap<string, readonly string[]>): string | undefined {
  const ways = new Map<string, string>([[start, start]]);
  // A map's iteration includes the entries that the loop adds.
  for (const [file, way] of ways)
    for (const target of targets.get(file) ?? []) {
      if (target === start) return `${way} → ${start}`;
      if (!ways.has(target)) ways.set(target, `${way} → ${target}`);
    }
  return undefined;
}
