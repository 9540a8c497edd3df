// Nothing but Prisma's native engine can compare a MySQL database with a schema, so it is done here, for the part of
// the schema language that the models use.
import { openRaw, type RawConnection } from '@a2a-cluster/testing';

interface Model {
  readonly table: string;
  /** Column name to type, as information_schema writes it, with NULL or NOT NULL. */
  readonly columns: ReadonlyMap<string, string>;
  readonly primaryKey: string;
  /** Column lists, unique ones marked. */
  readonly indexes: readonly string[];
}

const plainTypes: Record<string, string> = { Int: 'int(11)', Boolean: 'tinyint(1)', DateTime: 'datetime(3)' };

function columnType(type: string, attributes: string): string {
  const native = /@db\.(\w+(?:\(\d+\))?)/.exec(attributes)?.[1];
  return native?.toLowerCase() ?? plainTypes[type] ?? `(no rule for ${type})`;
}

function parseModel(body: string): Model {
  const columnOf = new Map<string, string>();
  const columns = new Map<string, string>();
  const listed = (pattern: RegExp) =>
    [...body.matchAll(pattern)].map(([, fields = '']) =>
      fields
        .split(',')
        .map((field) => columnOf.get(field.trim()))
        .join(','),
    );
  let primaryKey = '';
  for (const [, field = '', type = '', optional, attributes = ''] of body.matchAll(
    /^ +(\w+) +(\w+)(\?)?(.*)$/gm,
  )) {
    const column = /@map\("(\w+)"\)/.exec(attributes)?.[1] ?? field;
    columnOf.set(field, column);
    columns.set(column, `${columnType(type, attributes)} ${optional ? 'NULL' : 'NOT NULL'}`);
    if (/@id\b/.test(attributes)) primaryKey = column;
  }
  const indexes = [
    ...listed(/@@index\(\[(.*?)\]/g),
    ...listed(/@@unique\(\[(.*?)\]/g).map((list) => `${list} unique`),
  ];
  const table = /@@map\("(\w+)"\)/.exec(body)?.[1] ?? '';
  return { table, columns, primaryKey: primaryKey || (listed(/@@id\(\[(.*?)\]/g)[0] ?? ''), indexes };
}

async function columnDrift(raw: RawConnection, model: Model): Promise<string[]> {
  const rows = await raw.query(
    'SELECT column_name AS n, column_type AS t, is_nullable AS y FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?',
    [model.table],
  );
  // MySQL 8 no longer tells the display width of int.
  const typeOf = (type: string) => (type === 'int' ? 'int(11)' : type);
  const found = new Map(
    rows.map(({ n, t, y }) => [String(n), `${typeOf(String(t))} ${y === 'YES' ? 'NULL' : 'NOT NULL'}`]),
  );
  const names = new Set([...model.columns.keys(), ...found.keys()]);
  return [...names]
    .filter((name) => found.get(name) !== model.columns.get(name))
    .map((name) => {
      const said = model.columns.get(name) ?? 'nothing';
      return `${model.table}.${name}: ${found.get(name) ?? 'missing'}, the schema says ${said}`;
    });
}

async function indexDrift(raw: RawConnection, model: Model): Promise<string[]> {
  const rows = await raw.query(
    `SELECT index_name AS n, MAX(non_unique) AS u, GROUP_CONCAT(column_name ORDER BY seq_in_index) AS c
       FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? GROUP BY index_name`,
    [model.table],
  );
  const primary = rows.find(({ n }) => n === 'PRIMARY')?.['c'] ?? 'none';
  const found = rows
    .filter(({ n }) => n !== 'PRIMARY')
    .map(({ c, u }) => `${String(c)}${Number(u) === 0 ? ' unique' : ''}`);
  return [
    ...(primary === model.primaryKey
      ? []
      : [`${model.table}: primary key (${String(primary)}), the schema says (${model.primaryKey})`]),
    ...model.indexes
      .filter((list) => !found.includes(list))
      .map((list) => `${model.table}: no index on (${list})`),
    ...found
      .filter((list) => !model.indexes.includes(list))
      .map((list) => `${model.table}: index on (${list}), not in the schema`),
  ];
}

/** How the tables of a MySQL or MariaDB database differ from a schema, in words; empty where they do not. */
export async function mysqlDrift(url: string, schema: string): Promise<string[]> {
  const models = [...schema.matchAll(/^model \w+ \{\n(.*?)^\}/gms)].map(([, body = '']) => parseModel(body));
  const raw = await openRaw(url);
  try {
    const found: string[] = [];
    for (const model of models)
      found.push(...(await columnDrift(raw, model)), ...(await indexDrift(raw, model)));
    return found;
  } finally {
    await raw.close();
  }
}
