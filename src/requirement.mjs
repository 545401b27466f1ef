/** Says why this Node.js cannot run Fairlead from its checkout; undefined when it can. */
export function requirementProblem() {
  return process.features.typescript
    ? undefined
    : `Node ${process.versions.node} cannot run TypeScript; run npx fairlead, which uses the Node 26 that npm ci installs`;
}
