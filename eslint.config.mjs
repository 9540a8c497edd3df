import js from '@eslint/js';
import jsdoc from 'eslint-plugin-jsdoc';
import tseslint from 'typescript-eslint';

const sizes = {
  'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
  'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
  'max-params': ['error', 3],
  complexity: ['error', 20],
};

const oneClock = [
  { object: 'Date', property: 'now', message: 'Time is read in core/src/clock.ts only.' },
  { object: 'performance', property: 'now', message: 'Time is read in core/src/clock.ts only.' },
  {
    object: 'process',
    property: 'env',
    message: 'The environment is read in apps/clustermode/src/config.ts only.',
  },
];

export default tseslint.config(
  {
    ignores: ['**/node_modules/**', '**/dist/**', 'packages/db/src/generated/**', '**/.turbo/**', '**/*.cjs'],
  },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' },
      ],
      eqeqeq: ['error', 'smart'],
      'no-console': 'error',
    },
  },
  {
    files: ['packages/*/src/**/*.ts', 'apps/*/src/**/*.{ts,tsx}'],
    plugins: { jsdoc },
    rules: {
      ...sizes,
      'no-restricted-properties': ['error', ...oneClock],
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
      'jsdoc/require-jsdoc': [
        'error',
        {
          publicOnly: { ancestorsOnly: false, esm: true },
          require: { FunctionDeclaration: true, ClassDeclaration: true, MethodDefinition: false },
          contexts: [
            'TSInterfaceDeclaration',
            'TSTypeAliasDeclaration',
            'ExportNamedDeclaration > VariableDeclaration',
          ],
        },
      ],
    },
  },
  {
    // The page runs in a browser, which has none of our packages: its clock is a file of its own.
    files: [
      'packages/core/src/clock.ts',
      'apps/clustermode/src/config.ts',
      'apps/console/src/state/clock.ts',
    ],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['bench/src/**/*.ts'],
    rules: sizes,
  },
  {
    files: ['packages/testing/**/*.ts'],
    rules: { 'no-restricted-properties': 'off', 'max-lines-per-function': 'off' },
  },
  {
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        Buffer: 'readonly',
        WebAssembly: 'readonly',
        performance: 'readonly',
        fetch: 'readonly',
      },
    },
    rules: { 'no-console': 'off' },
  },
  { files: ['**/test/**/*.ts'], rules: { 'no-console': 'off' } },
);
