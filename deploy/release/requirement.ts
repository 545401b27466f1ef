import packageJson from '../../package.json' with { type: 'json' };

/** Programs that use functions of the newest Node.js; all other commands run on Node.js 22 and newer as well. */
const demanding = new Set(['gateway', 'controller', 'node', 'dev', 'demo']);
export const minNode = { programs: 26, commands: 22 };

/** Says why this Node.js cannot run a program or command of the package; undefined when it can. */
export function requirementProblem(program: string): string | undefined {
  const needed = demanding.has(program) ? minNode.programs : minNode.commands;
  if (Number.parseInt(process.versions.node, 10) >= needed) return undefined;
  const { version, dependencies } = packageJson;
  return (
    `${/^[a-z]/.test(program) ? program : 'the command line'} needs Node ${needed}, and this is Node ${process.versions.node}; use the Debian package or ` +
    `the container image, or: npx --package node@${dependencies.node} --package fairlead@${version} fairlead ${program}`
  );
}
