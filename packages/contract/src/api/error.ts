import { z } from 'zod'
import { apiSchema } from './api-schema.ts'

export const errorSchema = apiSchema(
  'Error',
  z.object({
    error: z.string().describe('What is wrong, for people; these texts do not change'),
    current: z.int().optional().describe('With the site limit: number of domains'),
    lines: z
      .array(z.object({ line: z.int(), error: z.string() }))
      .optional()
      .describe('With a list of redirects: the first 100 entries that are refused'),
    allowed: z.int().optional().describe('With the site limit: domains that the plan allows'),
  }),
)
