import { afterAll, beforeAll, beforeEach, describe } from '@jest/globals';
import { openDatabase, type OpenDatabase } from '../support.js';
import { describeAmbiguity } from './ambiguity.js';
import { describeBounds } from './bounds.js';
import { describeOpenings } from './openings.js';
import { Scene } from './scene.js';
import { describeWrites } from './writes.js';

/** What the journal promises over any database (protocol 3). */
export function describeJournalContract(provider: Parameters<typeof openDatabase>[0]): void {
  describe(`a journal on ${provider}`, () => {
    let opened: OpenDatabase;
    let scene: Scene;

    beforeAll(async () => {
      opened = await openDatabase(provider);
    });
    afterAll(() => opened.close());
    beforeEach(() => {
      scene = new Scene(opened.database);
    });

    describeWrites(() => scene);
    describeAmbiguity(() => scene);
    describeOpenings(() => scene);
    describeBounds(() => opened.database);
  });
}
