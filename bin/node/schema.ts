/** The files of the database's schema. They stand in the packages that own their tables; `docs/releasing.md` says how to change them. */
import path from 'node:path'
import { MIGRATIONS, type Schema } from '@prepaint/postgres/migrate.ts'

const PACKAGES = path.resolve(import.meta.dirname, '../../packages')
const inPackages = (files: readonly string[]) => files.map((file) => path.join(PACKAGES, file))

/** A table stands after those that it refers to. */
const TABLES = [
  'service/src/accounts/tables.sql',
  'postgres/src/tables.sql',
  'postgres/src/audit/tables.sql',
  'postgres/src/tasks/tables.sql',
  'postgres/src/rates/tables.sql',
  'service/src/sites/tables.sql',
  'service/src/accounts/webhook-tables.sql',
  'service/src/fronts/tables.sql',
  'service/src/certificates/tables.sql',
  'service/src/insight/fleet/tables.sql',
  'service/src/insight/traffic/tables.sql',
  'service/src/insight/reports/tables.sql',
  'service/src/notifications/tables.sql',
  'pages/src/quota.tables.sql',
  'pages/src/queue/tables.sql',
  'pages/src/queue/tries/tables.sql',
  'pages/src/queue/upkeep/tables.sql',
  'pages/src/queue/warm/tables.sql',
  'pages/src/store/tables.sql',
  'pages/src/forms/tables.sql',
  'pages/src/inspection/tables.sql',
  'pages/src/site-files/tables.sql',
]

/** Tables with rows for each page. The order is that of their foreign keys. */
const DIVIDED = ['page', 'page_form', 'known_path', 'last_visit', 'last_render', 'page_fact']

/** A function in SQL stands after those that it calls. */
const FUNCTIONS = [
  'postgres/src/functions.sql',
  'postgres/src/audit/functions.sql',
  'postgres/src/tasks/functions.sql',
  'service/src/accounts/functions.sql',
  'service/src/certificates/functions.sql',
  'service/src/insight/traffic/functions.sql',
  'service/src/notifications/functions.sql',
  'pages/src/quota.functions.sql',
  'pages/src/queue/functions.sql',
  'pages/src/queue/claims.functions.sql',
  'pages/src/queue/scale.functions.sql',
  'pages/src/queue/warm/functions.sql',
  'pages/src/inspection/functions.sql',
  'pages/src/store/functions.sql',
]

export const SCHEMA: Schema = {
  tables: inPackages(TABLES),
  divided: DIVIDED,
  functions: {
    files: inPackages(FUNCTIONS),
    // Both change with each change of these files.
    number: 29,
    checksum: '6f5afdcae9899213846453813bad25537e9cf0251d1c2677e626b525338041d9',
  },
  migrations: MIGRATIONS,
}
