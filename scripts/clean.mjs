// Removes what a build made in the package it is called from.
import { rmSync } from 'node:fs';

for (const folder of ['dist', '.turbo']) rmSync(folder, { recursive: true, force: true });
