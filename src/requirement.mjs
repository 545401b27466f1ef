/** Says why this Node.js cannot run Fairlead from its checkout; undefined when it can. */
export function requirementProblem() {
  return process.features.typescript
    ? undefined
    : `Node ${process.versions.node} cannot run TypeScript; npx and npm scripts run on the Node 26 that npm ci installs`;
}
