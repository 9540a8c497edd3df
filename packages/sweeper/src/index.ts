export * from './create-sweeper.js';
export * from './sweeper.js';
