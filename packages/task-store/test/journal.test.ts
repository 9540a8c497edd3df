import { availableProviders } from '@a2a-cluster/testing';
import { describeJournalContract } from './journal-contract/index.js';

for (const provider of ['memory', ...availableProviders()] as const) describeJournalContract(provider);
