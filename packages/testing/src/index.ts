export { availableProviders, serverUrl, type TestProvider } from './providers.js';
export { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from './test-database.js';
export { migrationFiles, workspaceRoot, type MigrationFile } from './migration-files.js';
export { openRaw, providerOfUrl, type RawConnection } from './raw-connection.js';
export { createFakeClock, type FakeClock } from './fake-clock.js';
export { hasTools } from './optional-tools.js';
export { Random } from './random.js';
export * from './growth/index.js';
