export * from './create-database.js';
export * from './database.js';
export * from './memory/database.js';
export { absoluteDatabaseUrl, defaultDatabaseUrl } from './migrations/database-url.js';
export { deployMigrations, type DeployOptions, type DeployResult } from './migrations/deploy.js';
export * from './statements/journal-statements.js';
export * from './statements/lease-statements.js';
export * from './statements/log-statements.js';
export * from './statements/task-queries.js';
