import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };

/** What a file imports: a path below the project, or a package. Imports of types alone are erased before it runs. */
export type Import = { readonly target: string; readonly isType: boolean };

const statement =
  /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|\b(?:import|getBuiltinModule)\('([^']+)'\)/gm;

/** Every import of a TypeScript file, dynamic ones and modules of Node.js that are got late among them. */
export function importsOf(file: string): readonly Import[] {
  const statements = readFileSync(file, 'utf8').matchAll(statement);
  return [...statements].map(([, type, fixed, dynamic]) => {
    const name = fixed ?? dynamic ?? '';
    const chosen = packageJson.imports[name as keyof typeof packageJson.imports]?.default;
    const target = name.startsWith('.')
      ? relative('.', join(dirname(file), name))
      : (chosen?.slice(2) ?? name);
    return { target, isType: type !== undefined };
  });
}

/** Every file and package that may be loaded when a file is; what is imported for its types is not. */
export function filesLoadedBy(entry: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    if (!file.endsWith('.ts') || !existsSync(file)) return;
    for (const { target, isType } of importsOf(file)) if (!isType) visit(target);
  };
  visit(entry);
  return seen;
}

/** The shortest way by which each of these files imports itself again, for its types alone or late as well. */
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
  // A map is walked in the order of its entries, those added meanwhile included.
  for (const [file, way] of ways)
    for (const target of targets.get(file) ?? []) {
      if (target === start) return `${way} → ${start}`;
      if (!ways.has(target)) ways.set(target, `${way} → ${target}`);
    }
  return undefined;
}
