/** One jest for the whole workspace: sources are read directly, so a test never sees a stale build. */
export default {
  testMatch: [
    '<rootDir>/packages/*/test/**/*.test.ts',
    '<rootDir>/apps/*/test/**/*.test.ts',
    '<rootDir>/test/**/*.test.ts',
    '<rootDir>/bench/test/**/*.test.ts',
  ],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^@a2a-cluster/([a-z-]+)$': '<rootDir>/packages/$1/src/index.ts',
    '^@a2a-cluster/([a-z-]+)/contract$': '<rootDir>/packages/$1/src/contract/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  testTimeout: 60_000,
  maxWorkers: 2,
};
