import { z } from 'zod'

import { apiSchema } from './api-schema.ts'

export const purgedSchema = apiSchema(
  'Purged',
  z.object({
    message: z.string(),
    keysDeleted: z.int().describe('Pages, redirects and sitemaps that were deleted'),
  }),
)
