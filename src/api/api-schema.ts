import type { z } from 'zod'

/** Gives a schema a name of its own under `components/schemas` of the OpenAPI document. */
export function apiSchema<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  return schema.meta({ id: name })
}
