import { z } from 'zod'
import { apiSchema } from './api-schema.ts'

export const roleSchema = z
  .enum(['owner', 'operator'])
  .describe('`operator`: may see and change all accounts')

export const meSchema = apiSchema(
  'Me',
  z.object({
    email: z.string(),
    role: roleSchema,
    plan: z.object({
      name: z.string(),
      site_limit: z.int().nullable().describe('null: unlimited'),
      monthly_render_limit: z.int().describe('For each domain'),
      api_keys: z.boolean(),
      webhooks: z.boolean(),
    }),
  }),
)

export type Me = z.infer<typeof meSchema>

const passwordSchema = z.string().min(1).max(1_000)
export const emailSchema = z.string().min(1).max(254)

export const sessionSchema = apiSchema(
  'Session',
  z.object({
    id: z.int(),
    current: z.boolean().describe('The session of this request'),
    created_at: z.string(),
    used_at: z.string().describe('Updated once a day'),
    address: z.string().describe('Client IP at sign-in; of IPv6 the /64'),
    user_agent: z.string(),
  }),
)

export const signInBody = z.object({ email: emailSchema, password: passwordSchema })

export const signInAnswer = z.object({ account: meSchema })

export const getSessionAnswer = z.object({ account: meSchema })

export const listSessionsAnswer = z.object({ sessions: z.array(sessionSchema) })

export const endSessionParams = z.object({ id: z.string().describe('The `id` in the list') })

export const signOutEverywhereAnswer = z.object({ ended: z.int() })

const secretFields = {
  id: z.int(),
  name: z.string(),
  hint: z.string().describe('Its first characters'),
  created_at: z.string(),
  last_used_at: z.string().nullable(),
  revoked_at: z.string().nullable(),
}

const nameField = z.string().describe('A name to recognise it by')

export const secretParams = z.object({ id: z.string().describe('The `id` in the list') })

export const keySchema = apiSchema(
  'ApiKey',
  z.object({
    ...secretFields,
    state: z.enum(['active', 'expired', 'revoked']),
    expires_at: z.string().nullable(),
  }),
)

export const tokenSchema = apiSchema(
  'WebhookToken',
  z.object({ ...secretFields, state: z.enum(['active', 'revoked']) }),
)

export const listKeysAnswer = z.object({ keys: z.array(keySchema) })

export const createKeyBody = z.object({
  name: nameField,
  expires_at: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2027-01-31T12:00:00Z' })
    .nullish(),
})

export const createKeyAnswer = z.object({ id: z.int(), name: z.string(), key: z.string() })

export const listTokensAnswer = z.object({ tokens: z.array(tokenSchema) })

export const createTokenBody = z.object({ name: nameField })

export const createTokenAnswer = z.object({ id: z.int(), name: z.string(), token: z.string() })

// In the body, because logs and browser histories keep URLs.
const linkTokenSchema = z.string().min(1).max(200).describe('The part of the link after `#`')

export const linkSchema = apiSchema(
  'Link',
  z.object({
    kind: z.enum(['first', 'invitation', 'reset']),
    email: z.string().nullable().describe('Of the account; null: chosen when the link is used'),
    expires_at: z.string(),
  }),
)

export const readLinkBody = z.object({ token: linkTokenSchema })

export const readLinkAnswer = z.object({ link: linkSchema })

export const useLinkBody = z.object({
  token: linkTokenSchema,
  email: emailSchema.optional(),
  password: passwordSchema,
})

export const useLinkAnswer = z.object({ account: meSchema })

export const planSchema = apiSchema(
  'Plan',
  z.object({
    name: z.string().describe('In the plan catalogue; a plan that was removed from it allows nothing'),
    sites: z.object({ used: z.int(), limit: z.int().nullable().describe('null: unlimited') }),
    renders: z.object({
      used: z.int().describe('Of all domains in the current UTC month'),
      limit_per_domain: z.int().describe('For each domain and UTC month'),
      stops_at: z.int().describe('120 %: from here on live traffic is proxied to the origin'),
    }),
    api_keys: z.object({ included: z.boolean(), used: z.int().describe('Active keys'), limit: z.int() }),
    webhooks: z.object({
      included: z.boolean(),
      used: z.int().describe('Active tokens of all domains'),
      limit_per_domain: z.int(),
      requests_per_hour: z.int().describe('For each domain, shared by all its tokens'),
      urls_per_request: z.int(),
    }),
    requests: z.object({
      paths_per_refresh: z.int(),
      body_bytes: z.int(),
    }),
  }),
)

export const getPlanAnswer = z.object({ plan: planSchema })

export const changePasswordBody = z.object({ current_password: passwordSchema, new_password: passwordSchema })

export const readPasswordResetAnswer = z.object({ by_mail: z.boolean() })

export const requestPasswordResetBody = z.object({ email: emailSchema })
