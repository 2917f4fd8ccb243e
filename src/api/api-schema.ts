import { z } from 'zod'

/** Schemas with a name of their own in the OpenAPI document. */
export const namedSchemas = z.registry<{ id: string }>()

/** Gives a schema its name under `components/schemas`. */
export function apiSchema<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  namedSchemas.add(schema, { id: name })
  return schema
}
