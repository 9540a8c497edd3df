// The layers of ARCHITECTURE.md, as a rule: an import may only point down.
const layers = [
  ['core'],
  ['db'],
  ['lease-store', 'event-stream'],
  ['task-store'],
  ['push-notifications', 'sweeper', 'retention', 'request-handler'],
  ['cluster'],
];
const apps = '^apps/';
const src = (names) => `^packages/(${names.join('|')})/src/`;

const upward = layers.map((names, level) => ({
  name: `layer-${level}-looks-down-only`,
  comment: 'A package imports lower layers only, and never its neighbours of the same layer.',
  severity: 'error',
  from: { path: src(names) },
  to: { path: [...layers.slice(level + 1).map(src), apps] },
}));

const neighbours = layers
  .filter((names) => names.length > 1)
  .flatMap((names) =>
    names.map((name) => ({
      name: `${name}-has-no-neighbour`,
      severity: 'error',
      from: { path: src([name]) },
      to: { path: src(names.filter((other) => other !== name)) },
    })),
  );

export default {
  forbidden: [
    ...upward,
    ...neighbours,
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'drivers-only-in-db',
      severity: 'error',
      from: { path: '^(packages/(?!db/|testing/)[^/]+|apps/[^/]+)/src/' },
      to: {
        path: 'node_modules/.*(@prisma/|/pg/|/mariadb/|/better-sqlite3/)',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'testing-is-for-tests',
      severity: 'error',
      from: { path: '^(packages/(?!testing/)[^/]+|apps/[^/]+)/src/(?!contract/)' },
      to: { path: '^packages/testing/' },
    },
    {
      name: 'contracts-are-for-tests',
      severity: 'error',
      from: { path: '^(packages|apps)/[^/]+/src/(?!contract/)' },
      to: { path: '^packages/[^/]+/src/contract/' },
    },
    { name: 'unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|generated)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.depcruise.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
