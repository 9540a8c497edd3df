/** The three lines every migration begins with, in this order; a line may go on in the comment lines after it. */
const LINES = ['Rollout step', 'Old replicas', 'Locks'] as const;
/** Shorter than this, and nothing was said. */
const LEAST = 12;

/**
 * What is missing in the first lines of a migration, each as a sentence; empty when whoever deploys it is told which
 * step of a rollout it is and when, what replicas of the version before do meanwhile, and what it locks.
 */
export function headerProblems(sql: string): string[] {
  const lines = sql.split('\n');
  const problems: string[] = [];
  LINES.forEach((name, at) => {
    const found = new RegExp(`^-- ${name}${name === 'Rollout step' ? ' \\d+' : ''}: (.+)$`).exec(
      lines[at] ?? '',
    );
    if (found === null) problems.push(`line ${at + 1} does not begin with "-- ${name}"`);
    else if ((found[1] ?? '').length < LEAST) problems.push(`"${name}" says nothing`);
  });
  if (problems.length > 0) return problems;
  if (!/\b(before|after|together|own migration|meanwhile)\b/.test(lines[0] ?? ''))
    problems.push('"Rollout step" does not say before or after what it is deployed');
  const locks = /^-- Locks: ([^]*?)\n(?!--)/m.exec(sql)?.[1] ?? '';
  for (const table of changedTables(sql))
    if (!new RegExp(`\\b(${table}|the file)\\b`).test(locks))
      problems.push(`"Locks" says nothing of ${table}`);
  return problems;
}

/** Tables that are changed and not made here: statements on them wait. */
function changedTables(sql: string): Set<string> {
  const statements = sql.replace(/^--.*$/gm, '');
  const named = (pattern: RegExp): string[] =>
    [...statements.matchAll(pattern)].map(([, name]) => name ?? '');
  const made = new Set(named(/\bCREATE TABLE (?:IF NOT EXISTS )?["`](\w+)["`]/g));
  return new Set(
    [
      ...named(/\bALTER TABLE ["`]?(\w+)["`]?/g),
      ...named(/\bCREATE (?:UNIQUE )?INDEX [^;]*? ON ["`](\w+)["`]/g),
      ...named(/\bUPDATE ["`]?(\w+)["`]?/g),
    ].filter((name) => !made.has(name)),
  );
}
