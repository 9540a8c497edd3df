export { createJournal, type JournalOptions } from './create-journal.js';
export { judgeRefusal } from './journal-commit.js';
export * from './journal.js';
