import { z } from 'zod'
import { SHARE_PARTS } from '../share-parts.ts'
import { nameField } from './account.ts'
import { apiSchema } from './api-schema.ts'
import { brandingSchema } from './branding.ts'

const partSchema = z.enum(SHARE_PARTS, { error: `must be some of ${SHARE_PARTS.join(', ')}` })

const SHARED_DOMAINS_LIMIT = 1_000

const shareLinkSchema = apiSchema(
  'ShareLink',
  z.object({
    id: z.int(),
    name: z.string(),
    domains: z.array(z.string()),
    parts: z.array(partSchema),
    created_at: z.string(),
    expires_at: z.string(),
    last_used_at: z.string().nullable(),
    created_by: z.string().nullable().describe('E-mail; null: the command line'),
  }),
)

export type ShareLinkView = z.infer<typeof shareLinkSchema>

export const listShareLinksAnswer = z.object({ share_links: z.array(shareLinkSchema) })

export const createShareLinkBody = z.object({
  name: nameField,
  domains: z
    .array(z.string())
    .min(1, { error: 'must name at least one domain' })
    .max(SHARED_DOMAINS_LIMIT, { error: `must have 1 to ${SHARED_DOMAINS_LIMIT} names` }),
  expires_at: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2027-01-31T12:00:00Z' })
    .optional()
    .describe('In 1 hour to 400 days; default: in 90 days'),
  parts: z
    .array(partSchema)
    .min(1, { error: 'must name at least one part' })
    .optional()
    .describe('What the link shows; default: all but `pages`'),
})

export const createShareLinkAnswer = z.object({
  share_link: shareLinkSchema,
  token: z.string(),
  url: z.string(),
})

export const shareLinkParams = z.object({ id: z.string().describe('The `id` in the list') })

export const revokedShareLinkAnswer = z.object({ deleted: z.object({ id: z.int(), name: z.string() }) })

export const sharedAnswer = z.object({
  share: z.object({
    account: z.object({ name: z.string(), branding: brandingSchema }),
    domains: z.array(z.string()),
    parts: z.array(partSchema),
    expires_at: z.string(),
  }),
})

export type SharedView = z.infer<typeof sharedAnswer>['share']
