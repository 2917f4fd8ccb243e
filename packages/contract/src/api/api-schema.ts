import { z } from 'zod'

/** Names a schema under `components/schemas` of the OpenAPI document. */
export function apiSchema<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  return schema.meta({ id: name })
}

/** Query parameter of tables, which are also available as CSV. */
export const formatParam = z
  .enum(['json', 'csv'])
  .optional()
  .describe('`csv`: a file for spreadsheets. Default: by `Accept`, else JSON')
