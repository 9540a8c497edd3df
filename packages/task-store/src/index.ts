export { createJournal, type JournalOptions } from './create-journal.js';
export { judgeRefusal } from './journal-commit.js';
export * from './journal.js';
export { foldRows, type FoldRows } from './fold-rows.js';
export { isStorableScope, scopeOf, storableScopeOf } from './scope.js';
export { createSdkTaskStore, type SdkTaskStoreOptions } from './sdk-task-store.js';
export * from './task-reader.js';
