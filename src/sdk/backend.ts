// `fairlead/backend`: the contract of a backend, for packages that implement one.
export * from '../../gateway/backend.ts';
